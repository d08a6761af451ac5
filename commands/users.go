package commands

import (
	"bufio"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// The users that exist without an ACL file.
const (
	UserDefault = "default"
	UserAdmin   = "admin"
)

// User is somebody who got in, and what they may do. It does not change.
type User struct {
	Name     string
	may      map[Category]bool
	anyKey   bool
	patterns []keyPattern // a key must match one unless anyKey
	account
}

// keyPattern is a glob and how it was written.
type keyPattern struct {
	text string
	globPattern
}

// account is how a user proves to be one.
type account struct {
	enabled bool
	open    bool                // no password is asked for
	secrets [][sha256.Size]byte // of the passwords, any of which will do
}

// Users is the set of users. It does not change; a new set replaces it.
type Users struct {
	byName map[string]*User
}

// ErrACL is returned for an ACL that cannot be used; it is wrapped with the
// line and the word.
var ErrACL = errors.New("bad ACL")

// OpenUsers lets everybody do everything, as a server without a password does.
func OpenUsers() *Users {
	return userSet(&User{
		Name: UserDefault, may: mayAll(), anyKey: true,
		account: account{enabled: true, open: true},
	})
}

// PasswordUsers has the user `default`, who may decide and read, and `admin`,
// who may do everything. An empty password leaves default open to everybody,
// and admin out.
func PasswordUsers(password, adminPassword string) *Users {
	app := &User{
		Name: UserDefault, anyKey: true,
		may:     map[Category]bool{CategoryConnection: true, CategoryDecide: true, CategoryRead: true},
		account: account{enabled: true, open: password == ""},
	}
	if password != "" {
		app.secrets = append(app.secrets, sha256.Sum256([]byte(password)))
	}
	admin := &User{Name: UserAdmin, anyKey: true, may: mayAll()}
	if adminPassword != "" {
		admin.enabled = true
		admin.secrets = append(admin.secrets, sha256.Sum256([]byte(adminPassword)))
	}
	return userSet(app, admin)
}

func userSet(users ...*User) *Users {
	set := &Users{byName: make(map[string]*User, len(users))}
	for _, u := range users {
		set.byName[u.Name] = u
	}
	return set
}

func mayAll() map[Category]bool {
	return map[Category]bool{CategoryConnection: true, CategoryDecide: true, CategoryRead: true, CategoryAdmin: true}
}

// Authenticate returns the user if the password is theirs. It takes as long
// for a name that does not exist as for a wrong password.
func (u *Users) Authenticate(name, password []byte) (*User, bool) {
	sum := sha256.Sum256(password)
	user, known := u.byName[string(name)]
	if !known {
		user = &User{account: account{secrets: make([][sha256.Size]byte, 1)}}
	}
	match := 0
	for i := range user.secrets {
		match |= subtle.ConstantTimeCompare(sum[:], user.secrets[i][:])
	}
	if known && user.enabled && (user.open || match == 1) {
		return user, true
	}
	return nil, false
}

// Initial is the user a new connection is, nil if it must authenticate first.
func (u *Users) Initial() *User {
	if user := u.byName[UserDefault]; user != nil && user.enabled && user.open {
		return user
	}
	return nil
}

// Protected says whether everybody who connects must authenticate.
func (u *Users) Protected() bool { return u.Initial() == nil }

// Runs says whether the user may run commands of a category.
func (u *User) Runs(c Category) bool { return c == CategoryConnection || u.may[c] }

// Reaches says whether the user may name key.
func (u *User) Reaches(key []byte) bool {
	if u.anyKey {
		return true
	}
	return slices.ContainsFunc(u.patterns, func(p keyPattern) bool { return p.matches(key) })
}

// List describes every user as an ACL file would, without the passwords'
// digests: nobody needs to see them.
func (u *Users) List() []string {
	lines := make([]string, 0, len(u.byName))
	for _, user := range u.byName {
		lines = append(lines, user.String())
	}
	slices.Sort(lines)
	return lines
}

// Names lists the users.
func (u *Users) Names() []string {
	names := make([]string, 0, len(u.byName))
	for name := range u.byName {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// String is the user's line, without secrets.
func (u *User) String() string {
	words := []string{"user", u.Name, "off"}
	if u.enabled {
		words[2] = "on"
	}
	switch {
	case u.open:
		words = append(words, "nopass")
	case len(u.secrets) > 0:
		words = append(words, "(password)")
	}
	if u.anyKey {
		words = append(words, "~*")
	}
	for _, p := range u.patterns {
		words = append(words, "~"+p.text)
	}
	for _, c := range []Category{CategoryDecide, CategoryRead, CategoryAdmin} {
		if u.may[c] {
			words = append(words, "+@"+string(c))
		}
	}
	return strings.Join(words, " ")
}

// ParseACL reads an ACL file in Redis' form, a user a line:
//
//	user gateway on >secret ~user:* ~ip:* +@decide
//	user ops on #<SHA-256 of the password in hex> ~* +@all
//
// Words: on, off, nopass, >password, #digest, ~pattern, allkeys, +@category,
// -@category with @decide, @read, @admin, @all. A user starts off, without
// passwords, keys and categories. Without a line for `default` nobody gets in
// unauthenticated. Every mistake is reported, with its line.
func ParseACL(r io.Reader) (*Users, error) {
	set := userSet()
	var errs []error
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		words := strings.Fields(lines.Text())
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		user, err := parseUser(words)
		if err == nil && set.byName[user.Name] != nil {
			err = fmt.Errorf("user %q stands twice", user.Name)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%w: line %d: %w", ErrACL, n, err))
			continue
		}
		set.byName[user.Name] = user
	}
	if err := lines.Err(); err != nil {
		errs = append(errs, fmt.Errorf("%w: %w", ErrACL, err))
	}
	if len(errs) == 0 && len(set.byName) == 0 {
		errs = append(errs, fmt.Errorf("%w: it names no user", ErrACL))
	}
	return set, errors.Join(errs...)
}

func parseUser(words []string) (*User, error) {
	if words[0] != "user" || len(words) < 2 {
		return nil, errors.New("want `user NAME word ...`")
	}
	user := &User{Name: words[1], may: map[Category]bool{}}
	for i, word := range words[2:] {
		if err := user.apply(word); err != nil {
			return nil, fmt.Errorf("user %s: word %d: %w", user.Name, i+1, err)
		}
	}
	if user.enabled && !user.open && len(user.secrets) == 0 {
		return nil, fmt.Errorf("user %s is on and has neither a password nor nopass", user.Name)
	}
	return user, nil
}

// apply reads one word. Errors never repeat what may be a secret.
func (u *User) apply(word string) error {
	switch {
	case word == "on":
		u.enabled = true
	case word == "off":
		u.enabled = false
	case word == "nopass":
		u.open = true
	case word == "allkeys" || word == "~*":
		u.anyKey = true
	case strings.HasPrefix(word, "~") && len(word) > 1:
		compiled, err := compileGlob(word[1:])
		if err != nil {
			return err
		}
		u.patterns = append(u.patterns, keyPattern{word[1:], compiled})
	case strings.HasPrefix(word, ">") && len(word) > 1:
		u.secrets = append(u.secrets, sha256.Sum256([]byte(word[1:])))
	case strings.HasPrefix(word, "#"):
		sum, err := hex.DecodeString(word[1:])
		if err != nil || len(sum) != sha256.Size {
			return errors.New("a # is followed by the SHA-256 of the password, 64 hex digits")
		}
		u.secrets = append(u.secrets, [sha256.Size]byte(sum))
	case strings.HasPrefix(word, "+@"), strings.HasPrefix(word, "-@"):
		return u.grant(word[2:], word[0] == '+')
	default:
		return errors.New("want on, off, nopass, >password, #digest, ~pattern, allkeys, +@category or -@category")
	}
	return nil
}

func (u *User) grant(name string, granted bool) error {
	switch c := Category(name); c {
	case CategoryDecide, CategoryRead, CategoryAdmin:
		u.may[c] = granted
	case "all":
		for c := range mayAll() {
			u.may[c] = granted
		}
	default:
		return fmt.Errorf("unknown category @%s; allowed are @decide, @read, @admin, @all", name)
	}
	return nil
}
