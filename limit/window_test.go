package limit_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/rlserver/rlserver/limit"
)

func TestParseWindow(t *testing.T) {
	const ms = 1_000_000
	for text, want := range map[string]int64{
		"1ms": ms, "1500ms": 1500 * ms, "1s": 1000 * ms, "60": 60_000 * ms, "5m": 300_000 * ms,
		"1h": 3_600_000 * ms, "1d": 86_400_000 * ms, "366d": limit.MaxWindow, "0": 0, "0s": 0, "9223372036": 9_223_372_036_000 * ms,
	} {
		if got, ok := limit.ParseWindow([]byte(text)); !ok || got != want {
			t.Errorf("%q is %d, %v; want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "s", "ms", "-1s", "+1s", "01s", "1.5s", "1 s", " 1s", "1S", "1y", "1ns", "1sms", "s1", "1w", "1us", "\x001s", "9223372036854775807d", "9223372037", "106752d", "99999999999999999999ms"} {
		if got, ok := limit.ParseWindow([]byte(text)); ok {
			t.Errorf("%q is %d; want it refused", text, got)
		}
	}
}

// What is written is read as the same.
func TestFormatWindow(t *testing.T) {
	for ns, want := range map[int64]string{1_000_000: "1ms", 1_500_000_000: "1500ms", 60_000_000_000: "1m", 5_400_000_000_000: "90m", 7 * 86_400_000_000_000: "7d"} {
		if got := limit.FormatWindow(ns); got != want {
			t.Errorf("%d is %q, want %q", ns, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		ns := rapid.Int64Range(1, limit.MaxWindow/limit.MinWindow).Draw(t, "ms") * limit.MinWindow
		if got, ok := limit.ParseWindow([]byte(limit.FormatWindow(ns))); !ok || got != ns {
			t.Fatalf("%d reads as %d, %v", ns, got, ok)
		}
	})
}
