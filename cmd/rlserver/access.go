package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"

	"github.com/rlserver/rlserver/commands"
)

// roster is who may come in, as the passwords or the ACL file say it.
type roster struct {
	users *commands.Users
	said  map[string]digest // of all that is said of a user, secrets included
}

type digest [sha256.Size]byte

// readRoster reads the ACL file, or else the files of passwords.
func (c *config) readRoster() (roster, error) {
	if c.aclFile != "" {
		return readACL(c.aclFile)
	}
	password, err1 := c.password.read(c.passwordFile)
	adminPassword, err2 := c.adminPassword.read(c.adminPasswordFile)
	if err := errors.Join(err1, err2); err != nil {
		return roster{}, err
	}
	switch {
	case password == "" && adminPassword == "":
		return roster{users: commands.OpenUsers()}, nil
	case password == adminPassword:
		return roster{}, errors.New("the passwords of default and admin are the same: applications could change everything")
	}
	return roster{
		users: commands.PasswordUsers(password, adminPassword),
		said: map[string]digest{
			commands.UserDefault: sha256.Sum256([]byte(password)),
			commands.UserAdmin:   sha256.Sum256([]byte(adminPassword)),
		},
	}, nil
}

// read returns the secret, from file if there is one.
func (s *secretValue) read(file string) (string, error) {
	if file != "" {
		return readSecret(file)
	}
	return string(*s), nil
}

func readACL(file string) (roster, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return roster{}, err
	}
	users, err := commands.ParseACL(bytes.NewReader(text))
	if err != nil {
		return roster{}, fmt.Errorf("%s: %w", file, err)
	}
	said := make(map[string]digest)
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == "user" {
			said[words[1]] = sha256.Sum256([]byte(strings.Join(words, " ")))
		}
	}
	return roster{users: users, said: said}, nil
}

// access is the roster in use. Any goroutine may ask for the users.
type access struct {
	cfg     *config
	current atomic.Pointer[roster]
}

func newAccess(cfg *config) *access {
	a := &access{cfg: cfg}
	a.current.Store(&cfg.roster)
	return a
}

func (a *access) users() *commands.Users { return a.current.Load().users }

// reload reads the roster again. It stays as it was if the new one has a
// mistake, or would open a door to the network. changed says of a user's name
// whether anything else is said of it now than before, so that who came in
// under it must prove to be it again.
func (a *access) reload() (changed func(user string) bool, err error) {
	next, err := a.cfg.readRoster()
	if err != nil {
		return nil, err
	}
	if err := errors.Join(a.cfg.checkDoors(next.users)...); err != nil {
		return nil, err
	}
	before := a.current.Swap(&next)
	return func(user string) bool {
		was, existed := before.said[user]
		is, exists := next.said[user]
		return was != is || existed != exists
	}, nil
}

// describe is for the log: how one gets in.
func (c *config) describeAccess() string {
	switch {
	case c.aclFile != "":
		return "acl-file"
	case c.roster.users.Protected():
		return "password"
	}
	return "open"
}
