package commands

// tracking is what CLIENT TRACKING was told. No key here is for clients to
// cache, so nothing is ever invalidated; some clients do not start without it.
type tracking struct{ on, bcast, optin, optout, noloop bool }

// CLIENT TRACKING ON|OFF [BCAST] [OPTIN] [OPTOUT] [NOLOOP]
func runClientTracking(c *Call) error {
	asked := tracking{on: equalFold(c.Args[2], "ON")}
	if !asked.on && !equalFold(c.Args[2], "OFF") {
		return errSyntax
	}
	for _, word := range c.Args[3:] {
		switch {
		case equalFold(word, "BCAST"):
			asked.bcast = true
		case equalFold(word, "OPTIN"):
			asked.optin = true
		case equalFold(word, "OPTOUT"):
			asked.optout = true
		case equalFold(word, "NOLOOP"):
			asked.noloop = true
		case equalFold(word, "REDIRECT"), equalFold(word, "PREFIX"):
			return errorf("CLIENT TRACKING with %s is not supported: nothing is ever invalidated here", quote(word))
		default:
			return errSyntax
		}
	}
	if asked.on {
		if err := asked.follows(c.tracking); err != nil {
			return err
		}
	} else {
		asked = tracking{}
	}
	c.tracking = asked
	c.W.Simple("OK")
	return nil
}

// follows says in Redis' words what cannot be asked, of itself or after before.
func (t tracking) follows(before tracking) error {
	switch {
	case before.on && t.bcast != before.bcast:
		return replyError("ERR You can't switch BCAST mode on/off before disabling tracking for this client, and then re-enabling it with a different mode.")
	case t.bcast && (t.optin || t.optout):
		return replyError("ERR OPTIN and OPTOUT are not compatible with BCAST")
	case t.optin && t.optout:
		return replyError("ERR You can't specify both OPTIN mode and OPTOUT mode")
	case t.optin && before.optout, t.optout && before.optin:
		return replyError("ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and then re-enabling it with a different mode.")
	}
	return nil
}

func runClientTrackingInfo(c *Call) error {
	w, t := c.W, c.tracking
	flags := []string{"off"}
	if t.on {
		flags[0] = "on"
	}
	for _, f := range []struct {
		set  bool
		name string
	}{{t.bcast, "bcast"}, {t.optin, "optin"}, {t.optout, "optout"}, {t.noloop, "noloop"}} {
		if f.set {
			flags = append(flags, f.name)
		}
	}
	w.Map(3)
	w.BulkString("flags")
	w.Set(len(flags))
	for _, f := range flags {
		w.BulkString(f)
	}
	w.BulkString("redirect")
	w.Int(t.redirect())
	w.BulkString("prefixes")
	if t.bcast { // one that matches everything
		w.Array(1)
		w.BulkString("")
	} else {
		w.Array(0)
	}
	return nil
}

// redirect is 0 without a redirection, -1 without tracking.
func (t tracking) redirect() int64 {
	if t.on {
		return 0
	}
	return -1
}

// CLIENT CACHING YES|NO
func runClientCaching(c *Call) error {
	yes, no, t := equalFold(c.Args[2], "YES"), equalFold(c.Args[2], "NO"), c.tracking
	switch {
	case !t.on:
		return replyError("ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled")
	case yes && !t.optin:
		return replyError("ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.")
	case no && !t.optout:
		return replyError("ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.")
	case !yes && !no:
		return errSyntax
	}
	c.W.Simple("OK")
	return nil
}
