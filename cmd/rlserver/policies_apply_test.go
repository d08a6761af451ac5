package main

import (
	"strings"
	"testing"
)

func TestApplyPolicies(t *testing.T) {
	h := hostPolicies(t, nil, nil)
	file := written(t, "limits.yaml", document("a 1", "b 1"))
	for _, step := range []struct {
		words  string
		stdin  string
		stdout string
		have   string
		writes int
	}{
		{"apply --dry-run " + file, "", "+ a  LIMIT 1 WINDOW 1s\n+ b  LIMIT 1 WINDOW 1s\na dry run: 2 to add, 0 to change, 0 to delete\n", "", 0},
		{"apply " + file, "", "+ a  LIMIT 1 WINDOW 1s\n+ b  LIMIT 1 WINDOW 1s\n2 added, 0 changed, 0 deleted\n", "a b", 1},
		{"apply " + file, "", "nothing to change\n", "a b", 1},
		{"apply --keep -", document("a 2", "c 1"), "~ a  LIMIT 1 -> 2\n+ c  LIMIT 1 WINDOW 1s\n1 added, 1 changed, 0 deleted\n", "a b c", 2},
		{"apply - --dry-run", document("a 2", "c 1"), "- b  LIMIT 1 WINDOW 1s\na dry run: 0 to add, 0 to change, 1 to delete\n", "a b c", 2},
		{"apply -", document("a 2", "c 1"), "- b  LIMIT 1 WINDOW 1s\n0 added, 0 changed, 1 deleted\n", "a c", 3},
		{"apply -", `{"policies": [{"name": "a", "limit": 2, "window": "1s"}]}`, "- c  LIMIT 1 WINDOW 1s\n0 added, 0 changed, 1 deleted\n", "a", 4},
		{"apply -", "policies: []\n", "- a  LIMIT 2 WINDOW 1s\n0 added, 0 changed, 1 deleted\n", "", 5},
	} {
		h.run(t, step.stdin, strings.Fields(step.words)...).expect(t, 0, step.stdout, "")
		if have := h.policies.names(); have != step.have || h.policies.writes != step.writes {
			t.Errorf("after %s: %q and %d writes, want %q and %d", step.words, have, h.policies.writes, step.have, step.writes)
		}
	}
}

// What is wrong with a file is said with the place, before anything is sent.
func TestApplyBadFile(t *testing.T) {
	h := hostPolicies(t, nil, nil)
	for text, want := range map[string]string{
		"policies:\n- {name: a, limit: 1, window: 1s}\n- {name: b, limit: 0, window: 1s}\n": "limits.yaml: policies[1] (line 3): limit must be",
		document("a 1", "a 2"):                "limits.yaml: policies[1] (line 3): policy \"a\" is in the document twice",
		"policies:\n  - {name: a\n":           "limits.yaml: yaml: line",
		"policies:\n- {name: a, limt: 1}\n":   `policies[0] (line 2): "limt" is no field of a policy`,
		`{"policies": [{"name": "a"}]}`:       "limits.yaml: policies[0]: ",
		"":                                    "limits.yaml: the document is empty",
		strings.Repeat("#", maxPolicySet+1):   "limits.yaml is longer than 16777216 bytes",
		"policies: []\nother: 1\n":            "limits.yaml: the document must be a mapping with one field",
		"policies: [{name: \"a\\u001b[2J\"}]": "limits.yaml: policies[0] (line 1): ",
	} {
		h.run(t, "", "apply", written(t, "limits.yaml", text)).expect(t, 1, "", want)
	}
	h.run(t, "nonsense", "apply", "-").expect(t, 1, "", "standard input: the document must be a mapping")
	h.run(t, "", "apply", "no-such-file.yaml").expect(t, 1, "", "no-such-file.yaml")
	// Only the server knows its --max-log.
	h.run(t, "policies: [{name: a, limit: 200000, window: 1s, algo: sliding-log}]", "apply", "-").
		expect(t, 1, "", "answers 400: policies[0] (line 1): LIMIT must be at most 100000 with sliding-log")
	if h.policies.writes != 0 {
		t.Errorf("%d writes", h.policies.writes)
	}
}

func TestPolicyCommandLine(t *testing.T) {
	for words, want := range map[string]string{
		"":                                      "want apply or export",
		"aply":                                  `want apply or export, got "aply"`,
		"apply":                                 "want one FILE",
		"apply a b":                             "want one FILE, or - for standard input, got 2",
		"apply --dryrun -":                      "rlserver policies apply --help lists the flags",
		"apply --timeout 0 -":                   "--timeout must be more than 0",
		"apply --timeout soon -":                "want a time such as",
		"apply --url 127.0.0.1:8379 -":          "--url must be http://host:port",
		"apply --url ftp://127.0.0.1:8379 -":    "--url must be http://host:port",
		"apply --ca ca.crt -":                   "--ca: open ca.crt",
		"apply --cert c.crt -":                  "--cert and --key need each other",
		"apply --user bob -":                    "--user needs a password",
		"apply --password-file no-such-file -":  "no-such-file",
		"export --format toml":                  "--format must be yaml or json",
		"export limits.yaml":                    `"limits.yaml" is no flag`,
		"export --url http://u:secret@host --x": "flag provided but not defined",
	} {
		got := runPolicyWords(t, nil, "", strings.Fields(words)...)
		if got.code != 1 || got.stdout != "" || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: %+v, want %q", words, got, want)
		}
	}
	got := runPolicyWords(t, nil, "", "export", "--url", "http://u:secret@host")
	if got.code != 1 || !strings.Contains(got.stderr, "--password-file") || strings.Contains(got.stderr, "secret") {
		t.Errorf("a password in the URL: %+v", got)
	}
}

func TestPolicyHelp(t *testing.T) {
	for words, want := range map[string]string{
		"--help":        "rlserver policies apply [flags] FILE",
		"apply --help":  "does not name are DELETED, unless --keep",
		"apply -h":      "-dry-run",
		"export --help": "-password-file file",
	} {
		runPolicyWords(t, nil, "", strings.Fields(words)...).expect(t, 0, want, "")
		runPolicyWords(t, nil, "", strings.Fields(words)...).expect(t, 0, "Exit codes:\n  0  done\n", "")
	}
	var stdout, stderr strings.Builder
	if code := run(t.Context(), []string{"policies", "--help"}, func(string) string { return "" }, nil, &stdout, &stderr); code != 0 || stdout.String() != policiesUsage {
		t.Errorf("the program: exit %d, %s%s", code, &stdout, &stderr)
	}
}
