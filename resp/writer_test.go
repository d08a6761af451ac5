package resp_test

import (
	"math"
	"testing"

	"github.com/rlserver/rlserver/resp"
)

// A reply in both protocols.
func TestWriter(t *testing.T) {
	for _, row := range []struct {
		name         string
		write        func(*resp.Writer)
		resp2, resp3 string // resp3 is empty where it is the same
	}{
		{"int", func(w *resp.Writer) { w.Int(0); w.Int(9); w.Int(10); w.Int(-1) }, ":0\r\n:9\r\n:10\r\n:-1\r\n", ""},
		{"extreme int", func(w *resp.Writer) { w.Int(math.MaxInt64); w.Int(math.MinInt64) }, ":9223372036854775807\r\n:-9223372036854775808\r\n", ""},
		{"bulk", func(w *resp.Writer) { w.Bulk([]byte("a\r\n\x00\xff")) }, "$5\r\na\r\n\x00\xff\r\n", ""},
		{"empty bulk", func(w *resp.Writer) { w.Bulk(nil) }, "$0\r\n\r\n", ""},
		{"bulk string", func(w *resp.Writer) { w.BulkString("0123456789") }, "$10\r\n0123456789\r\n", ""},
		{"simple", func(w *resp.Writer) { w.Simple("OK") }, "+OK\r\n", ""},
		{"simple of two lines", func(w *resp.Writer) { w.Simple("a\r\nb") }, "+a  b\r\n", ""},
		{"error", func(w *resp.Writer) { w.Error("ERR no") }, "-ERR no\r\n", ""},
		{"forged reply in an error", func(w *resp.Writer) { w.Error("ERR no\r\n+OK\n") }, "-ERR no  +OK \r\n", ""},
		{"null", func(w *resp.Writer) { w.Null() }, "$-1\r\n", "_\r\n"},
		{"null array", func(w *resp.Writer) { w.NullArray() }, "*-1\r\n", "_\r\n"},
		{"array", func(w *resp.Writer) { w.Array(0); w.Array(12) }, "*0\r\n*12\r\n", ""},
		{"map", func(w *resp.Writer) { w.Map(0); w.Map(7) }, "*0\r\n*14\r\n", "%0\r\n%7\r\n"},
		{"set", func(w *resp.Writer) { w.Set(3) }, "*3\r\n", "~3\r\n"},
		{"push", func(w *resp.Writer) { w.Push(3) }, "*3\r\n", ">3\r\n"},
		{"verbatim", func(w *resp.Writer) { w.Verbatim("a\r\nb") }, "$4\r\na\r\nb\r\n", "=8\r\ntxt:a\r\nb\r\n"},
		{
			"double", func(w *resp.Writer) { w.Double(1.5); w.Double(0); w.Double(-100) },
			"$3\r\n1.5\r\n$1\r\n0\r\n$4\r\n-100\r\n", ",1.5\r\n,0\r\n,-100\r\n",
		},
		{"raw", func(w *resp.Writer) { w.Raw([]byte("+OK\r\n")) }, "+OK\r\n", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.resp3 == "" {
				row.resp3 = row.resp2
			}
			for proto, want := range map[int]string{2: row.resp2, 3: row.resp3} {
				if got := write(t, proto, row.write); got != want {
					t.Errorf("RESP%d: %q, want %q", proto, got, want)
				}
			}
		})
	}
}

// writing is a handler that writes what a test wants.
type writing struct {
	*handler

	write func(*resp.Writer)
}

func (h writing) Command(_ *resp.Session, w *resp.Writer, _ [][]byte, _ int64) { h.write(w) }

func write(t *testing.T, proto int, write func(*resp.Writer)) string {
	t.Helper()
	lim := resp.DefaultLimits()
	s := resp.NewSession(resp.ClientInfo{}, writing{&handler{}, write}, &lim, nil)
	s.SetProto(proto)
	s.Received(copy(s.Buffer(), "x\r\n"))
	s.Process(1)
	if got := s.Proto(); got != proto {
		t.Errorf("Proto = %d, want %d", got, proto)
	}
	return string(s.Output())
}

func TestWriterTruncate(t *testing.T) {
	var w resp.Writer
	w.Simple("OK")
	before := w.Len()
	w.Array(2)
	w.Int(1)
	if got := string(w.From(before)); got != "*2\r\n:1\r\n" {
		t.Errorf("From(%d) = %q", before, got)
	}
	w.Truncate(before)
	w.Error("ERR no")
	if got := string(w.From(0)); got != "+OK\r\n-ERR no\r\n" {
		t.Errorf("written %q", got)
	}
	if w.Proto() != 2 {
		t.Errorf("Proto = %d, want 2", w.Proto())
	}
}
