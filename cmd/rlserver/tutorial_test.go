package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The pages that teach are run as they stand, from the first block to the last:
// in ```console, lines that begin with $ are commands (> goes on with one), and
// what follows is what they print. A block whose fence names a file, as in
// ```yaml limits.yaml, is that file. In what is printed
//
//	#    two spaces and # begin a remark
//	~    is a remark too, and the line's numbers may differ: they are times
//	...  is anything, within a line or for any number of lines
func TestTutorials(t *testing.T) {
	need(t, "redis-cli", "--version")
	need(t, "curl", "--version")
	for _, page := range []string{"policies.md", "cluster.md", "persistence.md"} {
		t.Run(page, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
			if err != nil {
				t.Fatal(err)
			}
			steps := readTutorial(string(text))
			if len(steps) < 10 {
				t.Fatalf("%d steps: is that all of %s?", len(steps), page)
			}
			r := newReader(t)
			for _, s := range steps {
				r.follow(t, page, s)
			}
		})
	}
}

// step is a command with what it prints, or a file.
type step struct {
	line    int // of the page
	command string
	file    string // is written, with what is wanted
	want    []string
}

func readTutorial(text string) (steps []step) {
	kind := "" // of the block; empty: none
	for i, line := range strings.Split(text, "\n") {
		last := len(steps) - 1
		switch fence, is := strings.CutPrefix(line, "```"); {
		case is && kind != "":
			kind = ""
		case is:
			kind = fence
			if _, file, is := strings.Cut(fence, " "); is {
				steps = append(steps, step{line: i + 1, file: file})
			}
		case kind == "console" && strings.HasPrefix(line, "$ "):
			steps = append(steps, step{line: i + 1, command: line[2:]})
		case kind == "console" && strings.HasPrefix(line, "> ") && len(steps[last].want) == 0:
			steps[last].command += "\n" + line[2:]
		case kind == "console", strings.Contains(kind, " "):
			steps[last].want = append(steps[last].want, line)
		}
	}
	return steps
}

// pattern is what the output must match.
func (s *step) pattern() *regexp.Regexp {
	remark := regexp.MustCompile(`\s{2,}([#~])( .*)?$`)
	number := regexp.MustCompile(`\d+`)
	var b strings.Builder
	for _, line := range s.want {
		if strings.TrimSpace(line) == "..." {
			b.WriteString(`(.*\n)*?`)
			continue
		}
		about := false
		if at := remark.FindStringSubmatchIndex(line); at != nil {
			about = line[at[2]] == '~'
			line = line[:at[0]]
		}
		line = strings.ReplaceAll(regexp.QuoteMeta(line), `\.\.\.`, `.*`)
		if about {
			line = number.ReplaceAllString(line, `\d+`)
		}
		b.WriteString(line + `\n`)
	}
	return regexp.MustCompile(`^` + b.String() + `$`)
}

// reader does what a page says, in a folder of its own.
type reader struct {
	folder  string
	address string // in the place of 127.0.0.1, so that ports are as on the page
	path    string
	jobs    map[int]*serverProcess // in the background, by the shell's numbers
	waits   []*serverProcess       // those of them that nobody has seen ready
}

func newReader(t *testing.T) *reader {
	t.Helper()
	r := &reader{folder: t.TempDir(), address: "127.0.0.1", jobs: map[int]*serverProcess{}}
	if runtime.GOOS == "linux" { // where all of 127/8 is this machine
		r.address = fmt.Sprintf("127.%d.%d.%d", 64+rand.IntN(64), 1+rand.IntN(254), 1+rand.IntN(254))
	}
	bin := t.TempDir()
	r.path = bin + string(os.PathListSeparator) + os.Getenv("PATH")
	cli, err := exec.LookPath("redis-cli")
	if err != nil {
		t.Fatal(err)
	}
	for name, script := range map[string]string{
		"redis-cli": fmt.Sprintf(`exec '%s' -h %s --no-raw "$@"`, cli, r.address),
		"rlserver": fmt.Sprintf(`if [ "$1" = policies ]; then
	verb=$2; shift 2
	set -- policies "$verb" --url http://%s:8379 "$@"
fi
exec '%s' "$@"`, r.address, os.Args[0]),
	} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

var killed = regexp.MustCompile(`^kill (-9 )?%(\d)$`)

func (r *reader) follow(t *testing.T, page string, s step) {
	t.Helper()
	here := func(text string) string { return strings.ReplaceAll(text, "127.0.0.1", r.address) }
	if s.file != "" {
		text := here(strings.Join(s.want, "\n") + "\n")
		if err := os.WriteFile(filepath.Join(r.folder, s.file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	command := here(s.command)
	if words, is := strings.CutSuffix(command, " &"); is {
		r.background(t, strings.Fields(strings.ReplaceAll(words, "\\\n", " ")))
		return
	}
	for _, p := range r.waits {
		p.expectLog(t, "ready")
	}
	r.waits = nil
	if signal := killed.FindStringSubmatch(command); signal != nil {
		r.kill(t, signal[1] != "", signal[2])
		return
	}
	want := s.pattern()
	for deadline := time.Now().Add(patience); ; {
		got := r.run(t, command)
		if want.MatchString(got) {
			return
		}
		if !onlyLooks(command) || time.Now().After(deadline) {
			t.Errorf("%s:%d: $ %s\n%s\nwant\n%s", page, s.line, s.command, got, strings.Join(s.want, "\n"))
			return
		}
	}
}

// onlyLooks says whether a command may be run again until the cluster has got
// where the page says that it is.
func onlyLooks(command string) bool {
	return strings.Contains(command, "RL.CLUSTER.STATUS") || strings.Contains(command, "RL.NODE.LIST")
}

// run returns what a command prints.
func (r *reader) run(t *testing.T, command string) string {
	t.Helper()
	var out bytes.Buffer
	cmd := serverCommand(t)
	cmd.Path, cmd.Args, cmd.Dir = "/bin/sh", []string{"sh", "-c", command}, r.folder
	cmd.Env = append(cmd.Env, "PATH="+r.path)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &out, time.Second
	p := start(t, cmd)
	_ = p.wait(t) // what is printed tells more than the exit code
	lines := strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(strings.ReplaceAll(line, r.address, "127.0.0.1"), " ")
	}
	return strings.TrimPrefix(strings.Join(lines, "\n")+"\n", "\n")
}

// background starts a server, of which the page does not say that it needs
// another address here.
func (r *reader) background(t *testing.T, words []string) {
	t.Helper()
	if words[0] != "rlserver" {
		t.Fatalf("%q is no server", words)
	}
	args := []string{"--addr", r.address + ":7379", "--admin-addr", r.address + ":8379"}
	for _, word := range words[1:] {
		if !strings.HasPrefix(word, "2>") {
			args = append(args, word)
		}
	}
	cmd := serverCommand(t, append(args, "--log-format", "json")...)
	cmd.Dir = r.folder
	p := &serverProcess{log: newServerLog()}
	cmd.Stderr = p.log
	p.process = start(t, cmd)
	number := 1
	for other := range r.jobs {
		number = max(number, other+1)
	}
	r.jobs[number] = p
	r.waits = append(r.waits, p)
}

func (r *reader) kill(t *testing.T, hard bool, job string) {
	t.Helper()
	number, err := strconv.Atoi(job)
	p := r.jobs[number]
	if err != nil || p == nil {
		t.Fatalf("no job has the number %s", job)
	}
	signal := syscall.SIGTERM
	if hard {
		signal = syscall.SIGKILL
	}
	p.signal(t, signal)
	if err := p.wait(t); err != nil && !hard {
		t.Errorf("rlserver: %v\n%s", err, p.log)
	}
	delete(r.jobs, number)
}
