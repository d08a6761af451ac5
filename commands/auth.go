package commands

import "github.com/rlserver/rlserver/resp"

// Redis' own texts about who may do what.
const (
	errNoAuth      = replyError("NOAUTH Authentication required.")
	errWrongPass   = replyError("WRONGPASS invalid username-password pair or user is disabled.")
	errNoKey       = replyError("NOPERM this user has no permissions to access one of the keys used as arguments")
	errHelloNoAuth = replyError("NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time")
	errNoPassword  = replyError("ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?")
	errClientName  = replyError("ERR Client names cannot contain spaces, newlines or special characters.")
	errNameTooLong = replyError("ERR a client's name, and that of its library, has at most 1024 bytes")
)

// AUTH [username] password
func authCommand() Command {
	return Command{
		Name: "auth", Group: GroupConnection, Since: "0.1.0",
		Summary:    "Authenticates the connection; with one argument as the user default.",
		Complexity: "O(1)",
		Flags:      FlagFast | FlagLoading | FlagNoAuth | FlagSecret, Keys: noKeys(), Category: CategoryConnection,
		Args: []Arg{
			{Name: "username", Type: TypeString, Optional: true},
			{Name: "password", Type: TypeString},
		},
		Reply: "OK",
		Run:   runAuth,
	}
}

func runAuth(c *Call) error {
	users := c.d.cfg.Users()
	name, password := []byte(UserDefault), c.Args[1]
	switch len(c.Args) {
	case 2:
		if !users.Protected() {
			return errNoPassword
		}
	case 3:
		name, password = c.Args[1], c.Args[2]
	default:
		return errSyntax
	}
	user, err := c.authenticate(name, password)
	if err != nil {
		return err
	}
	c.become(user)
	c.W.Simple("OK")
	return nil
}

// authenticate returns the user if the password is theirs. Who tries others'
// is told of.
func (c *Call) authenticate(name, password []byte) (*User, error) {
	user, ok := c.d.cfg.Users().Authenticate(name, password)
	if ok {
		return user, nil
	}
	if c.d.cfg.Events.AuthFailed != nil {
		c.d.cfg.Events.AuthFailed(string(name[:min(len(name), maxFailedName)]), c.S.Info().RemoteAddr)
	}
	return nil, errWrongPass
}

// maxFailedName is how much is told of the name of a user who was not let in,
// in bytes.
const maxFailedName = 64

// become makes user the connection's; nil: nobody.
func (c *Call) become(user *User) {
	c.user = user
	c.S.Authenticated = user != nil
	c.S.Describe(func(info *resp.ClientInfo) {
		info.User = ""
		if user != nil {
			info.User = user.Name
		}
	})
}

// allowed says whether the connection's user may run e with these arguments.
func (c *Call) allowed(e *entry) error {
	switch {
	case c.user == nil && e.Flags&FlagNoAuth == 0:
		return errNoAuth
	case c.user == nil:
		return nil
	case !c.user.Runs(e.Category):
		return replyError("NOPERM this user has no permissions to run the '" + e.full + "' command")
	case !c.user.anyKey:
		for _, key := range e.bucketKeys(c.Args) {
			if !c.user.Reaches(key) {
				return errNoKey
			}
		}
	}
	return nil
}

// of returns the keys among the words of a command, of step 1.
func (k Keys) of(args [][]byte) [][]byte {
	last := k.Last
	if last < 0 {
		last += len(args)
	}
	if k.First == 0 || k.First >= len(args) || last < k.First {
		return nil
	}
	return args[k.First:min(last+1, len(args))]
}
