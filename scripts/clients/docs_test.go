package clients

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const page = "../../docs/clients.md"

var update = flag.Bool("update", false, "copy the snippets into docs/clients.md")

// fence is a block of code in the page that is introduced by a link to a file.
var fence = regexp.MustCompile(`(\(\.\./scripts/clients/([^)]+)\):\n\n` + "```[a-z]+\n)((?s:.*?))\n```\n")

// TestDocsSnippets compares the code in docs/clients.md with the files that the
// other tests run.
func TestDocsSnippets(t *testing.T) {
	doc := readFile(t, page)
	shown := map[string]bool{}
	fresh := fence.ReplaceAllStringFunc(doc, func(block string) string {
		parts := fence.FindStringSubmatch(block)
		shown[parts[2]] = true
		return parts[1] + strings.TrimSpace(readFile(t, parts[2])) + "\n```\n"
	})
	for _, c := range clients() {
		if !shown[c.snippet] {
			t.Errorf("%s does not show %s", page, c.snippet)
		}
	}
	if fresh == doc {
		return
	}
	if !*update {
		t.Fatalf("%s shows other code than what is run; run: go test -run Docs -update in scripts/clients", page)
	}
	if err := os.WriteFile(page, []byte(fresh), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestDocsTable compares the table of clients with those that are tried here.
func TestDocsTable(t *testing.T) {
	doc := readFile(t, page)
	protocols := map[string][]string{}
	for _, c := range clients() {
		protocols[c.name] = append(protocols[c.name], fmt.Sprint(c.protocol))
	}
	for _, c := range clients() {
		row := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(c.name) + ` \| ([^|]+) \| ([^|]+) \|`).FindStringSubmatch(doc)
		if row == nil {
			t.Errorf("%s has no row for %s", page, c.name)
			continue
		}
		if want := strings.Join(protocols[c.name], ", "); row[2] != want {
			t.Errorf("%s: %s speaks protocol %s, it was tried with %s", page, c.name, row[2], want)
		}
		// Other versions than the page's are no failure: a distribution may have
		// them. What is not installed has none.
		out, err := exec.CommandContext(t.Context(), c.version[0], c.version[1:]...).Output()
		if got := strings.TrimPrefix(strings.TrimSpace(string(out)), "v"); err == nil && got != row[1] {
			t.Logf("*** %s: %s %s was tried here, the page says %s", page, c.name, got, row[1])
		}
	}
}

// TestDocsHandshakes checks that the page lists each recording, and no other.
func TestDocsHandshakes(t *testing.T) {
	doc := readFile(t, page)
	files, err := filepath.Glob("testdata/handshakes/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !strings.Contains(doc, "](../scripts/clients/"+filepath.ToSlash(file)+")") {
			t.Errorf("%s does not name %s", page, file)
		}
	}
	for _, link := range regexp.MustCompile(`\]\(\.\./scripts/clients/([^)]+)\)`).FindAllStringSubmatch(doc, -1) {
		if _, err := os.Stat(link[1]); err != nil {
			t.Errorf("%s: %v", page, err)
		}
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
