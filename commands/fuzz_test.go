package commands_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlserver/rlserver/resp"
)

// FuzzCommands sends commands with any arguments, in both protocols: every one
// is answered by exactly one reply that parses, an error changes no bucket, and
// nothing panics. Words of the input are separated by 0xff, commands by 0xfe.
func FuzzCommands(f *testing.F) {
	scripts, err := filepath.Glob("testdata/*/*")
	if err != nil || len(scripts) == 0 {
		f.Fatal("no scripts to begin with", err)
	}
	for _, name := range scripts {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			f.Add([]byte(strings.Join(strings.Fields(line), "\xff")))
		}
	}
	f.Add([]byte("hello\xff3\xfemulti\xferl.allow\xffk\xff1\xff1s\xfeexec"))
	w := newWorld(f) // a store is costly to make, and cheap to empty
	f.Fuzz(func(t *testing.T, in []byte) {
		for _, hello := range []string{"HELLO 2\r\n", "HELLO 3\r\n"} {
			if w.store.Len() > 0 { // it visits every slot
				w.store.Flush()
			}
			w.rules.reset()
			w.now, w.session = start, w.connect(1)
			w.send([]byte(hello))
			for _, line := range bytes.Split(in, []byte{0xfe}) {
				if words := bytes.Split(line, []byte{0xff}); len(words[0]) > 0 && !answersOtherwise(words) {
					w.fuzzOne(t, words)
				}
			}
		}
	})
}

func (w *world) fuzzOne(t *testing.T, words [][]byte) {
	t.Helper()
	frame := fmt.Appendf(nil, "*%d\r\n", len(words))
	for _, word := range words {
		frame = fmt.Appendf(frame, "$%d\r\n%s\r\n", len(word), word)
	}
	before := w.fingerprint(words)
	defer w.handler.Unpause() // it may be CLIENT PAUSE
	reply, status := w.send(frame)
	if len(reply) > 0 && reply[0] == '-' && w.fingerprint(words) != before {
		t.Fatalf("%q changed something, and is answered by %q", words, reply)
	}
	if status == resp.StatusClose {
		show(t, reply)
		w.session = w.connect(w.session.ID() + 1)
		return
	}
	if _, rest, err := showOne(reply); err != nil || len(rest) > 0 {
		t.Fatalf("%q is answered by %q: %v", words, reply, err)
	}
}

// fingerprint is the state of the buckets that a command names.
func (w *world) fingerprint(words [][]byte) string {
	text := fmt.Sprint(w.store.Len(), w.rules.index, len(w.cluster.changes))
	for _, word := range words {
		info, found := w.store.Inspect(word, w.now)
		text += fmt.Sprint(" ", found, info)
	}
	return text
}

// answersOtherwise names the commands that have more or fewer replies than one.
func answersOtherwise(words [][]byte) bool {
	switch strings.ToLower(string(words[0])) {
	case "subscribe", "psubscribe", "unsubscribe", "punsubscribe", "post", "host:":
		return true
	case "client":
		return len(words) > 1 && strings.EqualFold(string(words[1]), "reply")
	}
	return false
}

func TestAllowDoesNotAllocate(t *testing.T) {
	w := newWorld(t)
	frame := []byte("*7\r\n$8\r\nRL.ALLOW\r\n$7\r\nuser:42\r\n$3\r\n100\r\n$3\r\n10s\r\n$2\r\n20\r\n$4\r\nCOST\r\n$1\r\n1\r\n" +
		"*5\r\n$8\r\nrl.allow\r\n$7\r\nuser:43\r\n$1\r\n1\r\n$2\r\n1h\r\n$4\r\nPEEK\r\n" +
		"*4\r\n$8\r\nRL.ALLOW\r\n$7\r\nuser:44\r\n$1\r\n1\r\n$2\r\n1h\r\n" +
		"*5\r\n$11\r\nCL.THROTTLE\r\n$7\r\nuser:45\r\n$1\r\n9\r\n$1\r\n1\r\n$2\r\n60\r\n" +
		"*1\r\n$4\r\nPING\r\n")
	batch := func() {
		s := w.session
		s.Received(copy(s.Buffer(), frame))
		if s.Process(w.now) != resp.StatusRead {
			t.Fatal("the batch did not run")
		}
		s.Sent(len(s.Output()))
		w.now += 1000
	}
	batch()
	if n := testing.AllocsPerRun(1000, batch); n != 0 {
		t.Errorf("%v allocations a batch of allowed and denied decisions", n)
	}
}
