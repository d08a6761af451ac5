package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReplace(t *testing.T) {
	p := page{name: "bench"}
	newPage, begin, end := p.empty(), p.begin(), p.end()
	for _, tt := range []struct {
		name, text, want string
		bad              bool
	}{
		{name: "new page", text: newPage, want: "# Benchmarks\n\n" + begin + "\n\nfresh\n\n" + end + "\n"},
		{
			name: "text around it stays", text: "above\n" + begin + "\nold\n\nold\n" + end + "\n\nbelow",
			want: "above\n" + begin + "\n\nfresh\n\n" + end + "\n\nbelow",
		},
		{name: "no marks", text: "text", bad: true},
		{name: "no end", text: begin + "\n", bad: true},
		{name: "no begin", text: end + "\n", bad: true},
		{name: "twice", text: newPage + newPage, bad: true},
		{name: "the wrong way round", text: end + "\n" + begin + "\n", bad: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := p.replace(tt.text, "\nfresh\n")
			if got != tt.want || (err != nil) != tt.bad {
				t.Fatalf("got %q, %v", got, err)
			}
			if tt.bad {
				return
			}
			if again, err := p.replace(got, "fresh"); again != got || err != nil {
				t.Errorf("a second time: %q, %v", again, err)
			}
		})
	}
}

func TestPageKeepsWhatIsWrittenMeanwhile(t *testing.T) {
	p := page{filepath.Join(t.TempDir(), "page.md"), "bench"}
	if text, err := p.read(); text != p.empty() || err != nil {
		t.Fatalf("got %q, %v", text, err)
	}
	if err := os.WriteFile(p.file, []byte(p.empty()+"by hand\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.write("fresh", nil); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(p.file)
	if err != nil || !strings.Contains(string(got), "fresh") || !strings.HasSuffix(string(got), "by hand\n") {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestPageWithoutMarksStaysAsItIs(t *testing.T) {
	p := page{filepath.Join(t.TempDir(), "page.md"), "bench"}
	if err := os.WriteFile(p.file, []byte("by hand\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := p.read(); err == nil {
		t.Error("it was accepted")
	}
	if err := p.write("fresh", nil); err == nil {
		t.Error("it was written to")
	}
	if got, _ := os.ReadFile(p.file); string(got) != "by hand\n" {
		t.Errorf("it holds %q", got)
	}
}

func TestPageOnStandardOutput(t *testing.T) {
	var out strings.Builder
	if err := (page{"-", "bench"}).write("fresh\n", &out); err != nil || out.String() != "fresh\n" {
		t.Errorf("got %q, %v", out.String(), err)
	}
}
