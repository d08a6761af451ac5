package rlserver_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

const module = "github.com/rlserver/rlserver"

// goFile is what the arrows need of a file.
type goFile struct {
	path    string // slash-separated, from the root of the module
	imports []string
}

// goFiles reads the imports of all Go files of the module whose root is fsys,
// whatever their build tags. Modules below it are left out, and so is what the
// go command ignores.
func goFiles(fsys fs.FS) ([]goFile, error) {
	var files []goFile
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return skipDir(fsys, p)
		case path.Ext(p) != ".go":
			return nil
		}
		src, err := fs.ReadFile(fsys, p)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), p, src, parser.ImportsOnly)
		if err != nil {
			return err
		}
		file := goFile{path: p}
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return fmt.Errorf("%s: %w", p, err)
			}
			file.imports = append(file.imports, imported)
		}
		files = append(files, file)
		return nil
	})
	return files, err
}

func skipDir(fsys fs.FS, dir string) error {
	name := path.Base(dir)
	if dir == "." {
		return nil
	}
	if name == "testdata" || name == "vendor" || name == "node_modules" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return fs.SkipDir
	}
	if _, err := fs.Stat(fsys, path.Join(dir, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

// check returns a line for each import that is against the rules.
func check(files []goFile, houses map[string]house, restrictions []restriction) []string {
	var violations []string
	for _, file := range files {
		name, ok := houseOf(houses, path.Dir(file.path))
		if !ok {
			violations = append(violations, fmt.Sprintf(
				"%s: %s is no house: add it to the table in arrows_test.go with a reason", file.path, path.Dir(file.path)))
			continue
		}
		for _, imported := range file.imports {
			if why := forbidden(houses, restrictions, name, file.path, imported); why != "" {
				violations = append(violations, fmt.Sprintf("%s: %s may not import %s: %s", file.path, name, imported, why))
			}
		}
	}
	return violations
}

// forbidden returns why a file of the house called name may not import a
// package, or nothing if it may.
func forbidden(houses map[string]house, restrictions []restriction, name, file, imported string) string {
	isTest := strings.HasSuffix(file, "_test.go")
	if below(imported, module) {
		target, ok := houseOf(houses, path.Clean("./"+strings.TrimPrefix(imported, module)))
		h := houses[name]
		if !ok {
			return "it is no house"
		}
		if target == name || slices.Contains(h.imports, target) || isTest && slices.Contains(h.tests, target) {
			return ""
		}
		return h.why
	}
	for _, r := range restrictions {
		if isTest && !r.tests || !belowAny(imported, r.imports) {
			continue
		}
		if _, ok := r.except[file]; ok {
			continue
		}
		if slices.Contains(r.not, name) || r.not == nil && !slices.Contains(r.only, name) {
			return r.why
		}
	}
	return ""
}

// houseOf returns the longest entry of the table that dir is in.
func houseOf(houses map[string]house, dir string) (string, bool) {
	for name := dir; name != "."; name = path.Dir(name) {
		if _, ok := houses[name]; ok {
			return name, true
		}
	}
	_, ok := houses["."]
	return ".", ok && dir == "."
}

// below reports whether an import path is p or below it.
func below(imported, p string) bool {
	return imported == p || strings.HasPrefix(imported, p+"/")
}

func belowAny(imported string, paths []string) bool {
	return slices.ContainsFunc(paths, func(p string) bool { return below(imported, p) })
}

// imports reports whether a file imports one of paths or what is below them.
func imports(files []goFile, name string, paths []string) bool {
	return slices.ContainsFunc(files, func(f goFile) bool {
		return f.path == name && slices.ContainsFunc(f.imports, func(i string) bool { return belowAny(i, paths) })
	})
}

func TestCheck(t *testing.T) {
	table := map[string]house{
		".":     {why: "root"},
		"low":   {why: "low is low"},
		"low/x": {imports: []string{"low"}, tests: []string{"high"}, why: "x is lower than high"},
		"high":  {imports: []string{"low", "low/x"}, why: "high knows no other"},
		"cmd/a": {imports: []string{"high"}, why: "a is a command"},
	}
	rules := []restriction{
		{imports: []string{"net"}, not: []string{"low"}, why: "low does no I/O"},
		{imports: []string{"example.org/tree"}, only: []string{"high"}, why: "one tree"},
		{imports: []string{"unsafe"}, except: map[string]string{"high/fast.go": "fast"}, tests: true, why: "never"},
	}
	tests := []struct {
		name, file, imports string
		want                string // empty: allowed
	}{
		{"an arrow down", "high/a.go", module + "/low", ""},
		{"within a house", "low/sub/a.go", module + "/low", ""},
		{"an external test of its own package", "low/a_test.go", module + "/low", ""},
		{"an arrow up", "low/a.go", module + "/high", "low/a.go: low may not import " + module + "/high: low is low"},
		{"a house below a house is another", "low/a.go", module + "/low/x", "low/a.go: low may not import " + module + "/low/x: low is low"},
		{"its way back", "low/x/a.go", module + "/low", ""},
		{"a test may", "low/x/a_test.go", module + "/high", ""},
		{"its product may not", "low/x/a.go", module + "/high", "low/x/a.go: low/x may not import " + module + "/high: x is lower than high"},
		{"another test may not", "low/a_test.go", module + "/high", "low/a_test.go: low may not import " + module + "/high: low is low"},
		{"a command", "high/a.go", module + "/cmd/a", "high/a.go: high may not import " + module + "/cmd/a: high knows no other"},
		{"no house is imported", "high/a.go", module + "/new", "high/a.go: high may not import " + module + "/new: it is no house"},
		{"the root is imported", "high/a.go", module, "high/a.go: high may not import " + module + ": high knows no other"},
		{"no house imports", "new/a.go", "fmt", "new/a.go: new is no house: add it to the table in arrows_test.go with a reason"},
		{"an unknown command", "cmd/b/a.go", "fmt", "cmd/b/a.go: cmd/b is no house: add it to the table in arrows_test.go with a reason"},
		{"a forbidden library", "low/a.go", "net/http", "low/a.go: low may not import net/http: low does no I/O"},
		{"a name that only begins alike", "low/a.go", "network", ""},
		{"another house may", "low/x/a.go", "net/http", ""},
		{"a test may use a library", "low/a_test.go", "net/http", ""},
		{"a library of another house", "low/a.go", "example.org/tree/v2", "low/a.go: low may not import example.org/tree/v2: one tree"},
		{"a library of this house", "high/a.go", "example.org/tree/v2", ""},
		{"nobody, tests included", "high/a_test.go", "unsafe", "high/a_test.go: high may not import unsafe: never"},
		{"an exception", "high/fast.go", "unsafe", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			files := []goFile{{path: tt.file, imports: []string{"strings", tt.imports}}}
			got := strings.Join(check(files, table, rules), "\n")
			if got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestGoFiles(t *testing.T) {
	source := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	fsys := fstest.MapFS{
		"go.mod":               source("module m"),
		"a.go":                 source("package a\n\nimport \"fmt\"\n"),
		"b/b_test.go":          source("package b_test\n\nimport (\n\t\"os\"\n\tx \"m/c\"\n)\n"),
		"b/plan9.go":           source("//go:build plan9\n\npackage b\n\nimport \"net\"\n"),
		"b/notes.txt":          source("no Go"),
		"b/testdata/broken.go": source("no Go"),
		".cache/broken.go":     source("no Go"),
		"other/go.mod":         source("module other"),
		"other/broken.go":      source("no Go"),
	}
	want := []goFile{
		{"a.go", []string{"fmt"}},
		{"b/b_test.go", []string{"os", "m/c"}},
		{"b/plan9.go", []string{"net"}},
	}
	got, err := goFiles(fsys)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(goFile{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}

	fsys["broken.go"] = source("no Go")
	if _, err := goFiles(fsys); err == nil {
		t.Error("a file that does not parse must not count as one without imports")
	}
}
