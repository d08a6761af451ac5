package commands

import "io"

// Markdown writes docs/commands.md.
func Markdown(io.Writer) error { return nil }
