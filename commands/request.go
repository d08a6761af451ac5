package commands

import (
	"github.com/rlserver/rlserver/limit"
	"github.com/rlserver/rlserver/policy"
)

// Bounds of what a request says of itself. The values that a policy counts by
// become part of a bucket's identity, so together they must stay short.
const (
	maxAttrs    = 16
	maxAttrName = 64   // bytes
	maxEndpoint = 2048 // bytes
	maxIdentity = 4096 // bytes
)

// clientArg and aboutArgs are how a request is described, in the records of
// commands that take one.
func clientArg() Arg { return Arg{Name: "client", Type: TypeKey} }

func aboutArgs() []Arg {
	return []Arg{
		{Name: "tier", Type: TypeString, Token: "TIER", Optional: true},
		{Name: "endpoint", Type: TypeString, Token: "ENDPOINT", Optional: true},
		{Name: "name value", Type: TypeString, Token: "ATTR", Optional: true, Multiple: true},
	}
}

// about reads what follows TIER, ENDPOINT or ATTR into req. An empty tier or
// endpoint is as none, so that a gateway may always send the option.
func (r *reader) about(option string, req *policy.Request) {
	switch option {
	case "TIER":
		req.Tier = r.part("TIER", 0)
	case "ENDPOINT":
		req.Endpoint = r.text("ENDPOINT", 0, maxEndpoint)
	case "ATTR":
		r.again()
		if len(r.args)-r.next < 2 {
			r.fail("ATTR needs a name and a value")
			return
		}
		attr := policy.RequestAttr{Name: r.text("the name of an ATTR", 1, maxAttrName), Value: r.part("the value of an ATTR", 0)}
		for i := range req.Attrs {
			if string(req.Attrs[i].Name) == string(attr.Name) {
				r.fail("ATTR %s is given twice", quote(attr.Name))
			}
		}
		if len(req.Attrs) == maxAttrs {
			r.fail("ATTR may be given at most %d times", maxAttrs)
		}
		req.Attrs = append(req.Attrs, attr)
	}
}

// checkRequest reads the arguments of RL.CHECK and RL.EXPLAIN.
func (c *Call) checkRequest(about *policy.Request) (req limit.Request, err error) {
	r := c.reader()
	about.Client = r.part("client", 1)
	req.Cost = 1
	for r.more() {
		switch option := r.option("TIER", "ENDPOINT", "ATTR", "COST", "ATMOST", "PEEK"); option {
		case "COST":
			req.Cost = r.units("COST", 0)
		case "ATMOST":
			req.AtMost = true
		case "PEEK":
			req.Peek = true
		default:
			r.about(option, about)
		}
	}
	if err := r.end(); err != nil {
		return req, err
	}
	return req, req.Check()
}

// policyRequest reads `POLICY name [TIER t] [ENDPOINT e] [ATTR name value ...]`,
// which makes a command that acts on a key act on a policy's bucket.
func (r *reader) policyRequest(about *policy.Request) (name []byte) {
	for r.more() {
		switch option := r.option("POLICY", "TIER", "ENDPOINT", "ATTR"); option {
		case "POLICY":
			name = r.take("POLICY")
		default:
			r.about(option, about)
		}
	}
	if r.err == nil && name == nil {
		r.fail("POLICY must name the policy whose bucket is meant")
	}
	return name
}
