package clients

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// bin is the folder of what is built once for all tests: the server, the
// snippets in Go and that in C.
var bin string

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	if bin, err = os.MkdirTemp("", "rlserver-clients-"); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(bin)) }()
	if err := build("../..", "./cmd/rlserver"); err != nil {
		return 0, err
	}
	if err := build(".", "./go/..."); err != nil {
		return 0, err
	}
	if code = m.Run(); code == 0 {
		err = goleak.Find()
	}
	return code, err
}

func build(module, packages string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", bin+string(filepath.Separator), packages)
	cmd.Dir = module
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w\n%s", packages, err, out)
	}
	return nil
}

// missing ends a test whose client is not installed.
func missing(t *testing.T, client, install string) {
	t.Helper()
	text := fmt.Sprintf("%s is not installed, so it was NOT TRIED; to install it: %s", client, install)
	if os.Getenv("CI") == "true" {
		t.Fatal(text)
	}
	t.Skip("*** " + text)
}
