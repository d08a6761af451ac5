package commands

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPasswordUsers(t *testing.T) {
	for _, test := range []struct {
		name                string
		users               *Users
		user, password      string
		in, decides, admins bool
	}{
		{"open", OpenUsers(), "default", "whatever", true, true, true},
		{"right password", PasswordUsers("pw", "root"), "default", "pw", true, true, false},
		{"wrong password", PasswordUsers("pw", "root"), "default", "root", false, false, false},
		{"empty password", PasswordUsers("pw", "root"), "default", "", false, false, false},
		{"admin", PasswordUsers("pw", "root"), "admin", "root", true, true, true},
		{"admin with the application's password", PasswordUsers("pw", "root"), "admin", "pw", false, false, false},
		{"admin where none is configured", PasswordUsers("pw", ""), "admin", "", false, false, false},
		{"nobody", PasswordUsers("pw", "root"), "nobody", "pw", false, false, false},
		{"default stays open beside an admin password", PasswordUsers("", "root"), "default", "", true, true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			user, in := test.users.Authenticate([]byte(test.user), []byte(test.password))
			if in != test.in {
				t.Fatalf("in: %v", in)
			}
			if !in {
				return
			}
			if user.Runs(CategoryDecide) != test.decides || user.Runs(CategoryAdmin) != test.admins {
				t.Errorf("decides %v, admins %v", user.Runs(CategoryDecide), user.Runs(CategoryAdmin))
			}
		})
	}
}

func TestProtected(t *testing.T) {
	if OpenUsers().Protected() || PasswordUsers("", "root").Protected() {
		t.Error("protected without a password")
	}
	if !PasswordUsers("pw", "").Protected() {
		t.Error("not protected by a password")
	}
}

const acl = `
# gateways decide
user gateway on >secret >second ~user:* ~ip:* +@decide
user ops on #2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b allkeys +@all -@decide
user gone off >secret ~* +@all
`

func TestParseACL(t *testing.T) {
	users, err := ParseACL(strings.NewReader(acl))
	if err != nil {
		t.Fatal(err)
	}
	gateway, in := users.Authenticate([]byte("gateway"), []byte("second"))
	if !in {
		t.Fatal("the gateway's second password does not work")
	}
	if !gateway.Reaches([]byte("user:1")) || !gateway.Reaches([]byte("ip:1")) || gateway.Reaches([]byte("other")) {
		t.Error("key patterns")
	}
	if !gateway.Runs(CategoryDecide) || gateway.Runs(CategoryRead) || gateway.Runs(CategoryAdmin) || !gateway.Runs(CategoryConnection) {
		t.Error("categories")
	}
	ops, in := users.Authenticate([]byte("ops"), []byte("secret"))
	if !in || ops.Runs(CategoryDecide) || !ops.Runs(CategoryAdmin) || !ops.Reaches([]byte("x")) {
		t.Error("ops", in)
	}
	if _, in := users.Authenticate([]byte("gone"), []byte("secret")); in {
		t.Error("a user that is off got in")
	}
	if !users.Protected() {
		t.Error("a file without a default user must protect")
	}
	want := []string{
		"user gateway on (password) ~user:* ~ip:* +@decide",
		"user gone off (password) ~* +@decide +@read +@admin",
		"user ops on (password) ~* +@read +@admin",
	}
	if diff := cmp.Diff(want, users.List()); diff != "" {
		t.Error(diff)
	}
}

func TestParseACLMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "names no user",
		"acl":                             "line 1: want `user NAME word ...`",
		"user":                            "line 1: want `user NAME word ...`",
		"user a on >x\nuser a on >y":      `line 2: user "a" stands twice`,
		"user a on":                       "user a is on and has neither a password nor nopass",
		"user a on >x +@everything":       "user a: word 3: unknown category @everything; allowed are @decide, @read, @admin, @all",
		"user a on hunter2":               "user a: word 2: want on, off, nopass, >password, #digest, ~pattern, allkeys, +@category or -@category",
		"user a on #1234":                 "user a: word 2: a # is followed by the SHA-256 of the password, 64 hex digits",
		"user a on nopass >" + " ~":       "user a: word 3: want on",
		"\n\n# c\nuser a on >x\nuser b x": "line 5: user b: word 1:",
	} {
		_, err := ParseACL(strings.NewReader(text))
		if !errors.Is(err, ErrACL) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: the error repeats what may be a secret: %v", text, err)
		}
	}
}
