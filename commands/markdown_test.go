package commands

import (
	"os"
	"strings"
	"testing"
)

func TestCommandsPageIsFresh(t *testing.T) {
	var want strings.Builder
	if err := Markdown(&want); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want.String() {
		t.Error("docs/commands.md is stale: run make docs")
	}
}
