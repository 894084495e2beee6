package ir

// SetWarm sets after how many uses a key gets a row of its own.
func (m *Model) SetWarm(n uint32) { m.warm = n }
