package retryconfig

import (
	"testing"
	"time"
)

// TestDurationGrammars is the table "one spelling, many meanings".
func TestDurationGrammars(t *testing.T) {
	ms, s, bad := time.Millisecond, time.Second, time.Duration(-1)
	spellings := []string{"25ms", "0.025s", "1m30s", "PT1.5S", "500", "-1s", "1 s", ""}
	tests := []struct {
		g    grammar
		want []time.Duration
	}{
		{goGrammar, []time.Duration{25 * ms, 25 * ms, 90 * s, bad, bad, bad, bad, bad}},
		{protoGrammar, []time.Duration{bad, 25 * ms, bad, bad, bad, bad, bad, bad}},
		{gepGrammar, []time.Duration{25 * ms, bad, 90 * s, bad, bad, bad, bad, bad}},
		{linkerdGrammar, []time.Duration{25 * ms, bad, bad, bad, bad, bad, bad, bad}},
		{springGrammar, []time.Duration{25 * ms, bad, bad, 1500 * ms, 500 * ms, bad, bad, bad}},
		{timeSpan, []time.Duration{bad, bad, bad, bad, 500 * 24 * time.Hour, bad, bad, bad}},
		{isoGrammar, []time.Duration{bad, bad, bad, 1500 * ms, bad, bad, bad, bad}},
		{nginxGrammar, []time.Duration{25 * ms, bad, 90 * s, bad, 500 * s, bad, bad, bad}},
		{haproxyGrammar, []time.Duration{25 * ms, bad, bad, bad, 500 * ms, bad, bad, bad}},
		{goOrSeconds, []time.Duration{25 * ms, 25 * ms, 90 * s, bad, 500 * s, bad, bad, bad}},
		{caddyGrammar, []time.Duration{25 * ms, 25 * ms, 90 * s, bad, bad, bad, bad, bad}},
		{millisGrammar, []time.Duration{bad, bad, bad, bad, 500 * ms, bad, bad, bad}},
		{fracSeconds, []time.Duration{bad, bad, bad, bad, 500 * s, bad, bad, bad}},
	}
	for _, tt := range tests {
		for i, sp := range spellings {
			d, err := tt.g.parse(sp, true)
			if err != nil {
				d = bad
			}
			if d != tt.want[i] {
				t.Errorf("%s: %q gives %v (%v), want %v", tt.g.name, sp, d, err, tt.want[i])
			}
		}
	}
	more := []struct {
		g    grammar
		text string
		want time.Duration
	}{
		{timeSpan, "00:00:05", 5 * s}, {timeSpan, "00:00:00.80", 800 * ms}, {timeSpan, "1.02:03:04.5", 26*time.Hour + 3*time.Minute + 4500*ms},
		{timeSpan, "00:60:00", bad}, {protoGrammar, ".1s", 100 * ms}, {protoGrammar, "0.0000000001s", bad}, {isoGrammar, "P1DT2H", 26 * time.Hour},
		{isoGrammar, "PT", bad}, {isoGrammar, "PT0.2S", 200 * ms}, {nginxGrammar, "1m 30s", 90 * s}, {caddyGrammar, "1d", 24 * time.Hour},
		{linkerdGrammar, "1d", 24 * time.Hour}, {linkerdGrammar, "0", 0}, {springGrammar, "10S", 10 * s}, {goGrammar, "999999999999h", bad},
		{secondsGrammar, "99999999999999999999", bad}, {fracSeconds, "1e999999999", bad}, {protoGrammar, "1e999999999s", bad},
	}
	for _, tt := range more {
		d, err := tt.g.parse(tt.text, true)
		if err != nil {
			d = bad
		}
		if d != tt.want {
			t.Errorf("%s: %q gives %v (%v), want %v", tt.g.name, tt.text, d, err, tt.want)
		}
	}
}
