package quantity

import (
	"math/big"
)

// byteUnits: decimal prefixes are powers of 1000, binary ones of 1024.
var byteUnits = map[string]*big.Rat{
	"B": pow10(0), "kB": pow10(3), "KB": pow10(3), "MB": pow10(6), "GB": pow10(9), "TB": pow10(12), "PB": pow10(15), "EB": pow10(18),
	"KiB": pow2(10), "MiB": pow2(20), "GiB": pow2(30), "TiB": pow2(40), "PiB": pow2(50), "EiB": pow2(60),
}

func pow2(n uint) *big.Rat {
	return new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), n))
}

// ParseBytes reads "100B", "64MiB" or "1.5GB" as whole bytes: GB is 10^9 and
// GiB is 2^30, never mixed. A number without a unit is refused.
func ParseBytes(text string) (int64, error) {
	num, unit, ok := split(text)
	e := &SyntaxError{Text: text, Expected: "bytes such as 100B, 64MiB or 1.5GB"}
	if !ok {
		return 0, e
	}
	f, known := byteUnits[unit]
	switch {
	case unit == "" && num.Sign() == 0:
		return 0, nil
	case unit == "":
		e.Hint = "add a unit: " + text + "B"
		return 0, e
	case !known:
		e.Hint = "units: B, kB, MB, GB, TB, PB (powers of 1000), KiB, MiB, GiB, TiB, PiB (powers of 1024)"
		return 0, e
	}
	num.Mul(num, f)
	if !num.IsInt() || !num.Num().IsInt64() {
		e.Hint = "bytes are whole numbers below 2^63"
		return 0, e
	}
	return num.Num().Int64(), nil
}

// FormatBytes prints bytes with a decimal unit to four significant digits:
// "77.76 TB", "512 B".
func FormatBytes(n *big.Int) string {
	return formatBytes(n, []string{"EB", "PB", "TB", "GB", "MB", "kB"})
}

// FormatBinaryBytes prints bytes with a binary unit: "63.45 GiB".
func FormatBinaryBytes(n *big.Int) string {
	return formatBytes(n, []string{"EiB", "PiB", "TiB", "GiB", "MiB", "KiB"})
}

func formatBytes(n *big.Int, units []string) string {
	for _, u := range units {
		if s, ok := scaled(n, byteUnits[u], u); ok {
			return s
		}
	}
	return n.String() + " B"
}
