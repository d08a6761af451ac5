package snapshot

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlserver/rlserver/limit"
	"github.com/rlserver/rlserver/state"
)

var rewrite = flag.Bool("rewrite", false, "write golden files that do not exist yet, or anew")

// TestGolden shows that files of former versions are read. They are only ever
// added.
func TestGolden(t *testing.T) {
	want := oneOfEach()
	compare(t, "1.snapshot", write(t, true, want, &Slot{Slot: 5, Written: start}))
	file, err := os.ReadFile(filepath.Join("testdata", "1.snapshot"))
	if err != nil {
		t.Fatal(err)
	}
	f := read(bytes.NewReader(file), exact)
	if !errors.Is(f.err, io.EOF) || len(f.errs) > 0 || len(f.slots) != 2 || !f.reader.Clean() || !f.reader.Ended() {
		t.Fatalf("%d slots, %v, %v", len(f.slots), f.errs, f.err)
	}
	want.Records[5].Bucket.A = want.Written
	same(t, f.slots[0], want)
}

// compare compares with a golden file, or writes it.
func compare(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s:\n got %q\nwant %q", name, got, want)
	}
}

func TestPrint(t *testing.T) {
	file := write(t, true, oneOfEach(), &Slot{Slot: 5, Written: start})
	damaged := bytes.Clone(file)
	damaged[len(damaged)-30]++
	for name, file := range map[string][]byte{"1.txt": file, "damaged.txt": damaged} {
		var out bytes.Buffer
		if err := Print(&out, bytes.NewReader(file)); err != nil {
			t.Fatal(err)
		}
		compare(t, name, out.Bytes())
	}
	var out bytes.Buffer
	if err := Print(&out, bytes.NewReader(file[:len(file)-20])); !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(out.String(), "slot 16383") {
		t.Errorf("torn: %v\n%s", err, out.String())
	}
	if err := Print(&out, strings.NewReader("REDIS0011")); !errors.Is(err, ErrNotSnapshot) {
		t.Error(err)
	}
	if err := Print(failing{}, bytes.NewReader(file)); !errors.Is(err, errDisk) {
		t.Error(err)
	}
}

// FuzzReader reads anything: as it is, or as a slot's section whose sum is
// right. Nothing that comes out may be more than its rule allows, and written
// again it is read as the same.
func FuzzReader(f *testing.F) {
	file := write(f, true, oneOfEach())
	f.Add(file, false)
	head := len(section(kindSlot, nil))
	f.Add(file[head:len(file)-20], true)
	f.Add([]byte{1, 1, 1, 0, 0, 1, 0, 1, 0x80, 0x94, 0xeb, 0xdc, 0x03, 1, 0, 0, 0, 0, 0}, true)
	f.Fuzz(func(t *testing.T, data []byte, asSection bool) {
		if asSection {
			if len(data) > maxSection {
				return
			}
			data = section(kindSlot, data)
		}
		now := start - second
		f := read(bytes.NewReader(data), Since(now))
		for _, s := range f.slots {
			for i := range s.Records {
				if r := &s.Records[i]; !r.Gone {
					checkSane(t, r, now)
				}
			}
			// From here on the reader's time is the writer's.
			s.Written = now
			again := read(bytes.NewReader(write(t, false, s)), exact)
			if len(again.errs) > 0 || !errors.Is(again.err, io.EOF) {
				t.Fatalf("written again: %v, %v", again.errs, again.err)
			}
		}
		_ = Print(io.Discard, bytes.NewReader(data))
	})
}

func checkSane(t *testing.T, r *state.Record, now int64) {
	t.Helper()
	if left := limit.Remaining(r.Spec, &r.Bucket, now); left < 0 || left > r.Spec.Capacity() {
		t.Errorf("%d remain: %s", left, text(r))
	}
	if in := limit.FullIn(r.Spec, &r.Bucket, now); in < 0 || in > refill(r.Spec) {
		t.Errorf("full in %d ns: %s", in, text(r))
	}
	b := r.Bucket
	limit.Decide(r.Spec, r.Spec, &b, now, limit.Request{Cost: 1, AtMost: true})
}
