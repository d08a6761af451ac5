package policy

import (
	"encoding/binary"
	"slices"
)

// Home appends what the hash slot of the rule's bucket is computed of: the
// client where PER holds client, else the PER values, else the policy's name.
func (r *Rule) Home(dst []byte, req *Request) []byte {
	switch {
	case r.Per == nil, slices.Contains(r.Per, attrClient):
		return append(dst, req.Client...)
	case len(r.Per) == 0:
		return append(dst, r.Name...)
	}
	for _, name := range r.Per {
		value, _ := req.attr(name)
		dst = append(dst, value...)
	}
	return dst
}

// identityPrefix names the policy and what it counts by, so that a change of
// PER begins other buckets.
func (r *Rule) identityPrefix() string {
	b := appendText(nil, r.Name)
	per := r.Per
	if per == nil {
		per = []string{attrClient}
	}
	b = binary.AppendUvarint(b, uint64(len(per)))
	for _, name := range per {
		b = appendText(b, name)
	}
	return string(b)
}

// Bucket appends the identity of the rule's bucket for a request that it
// matches: each part behind its length, so that no value can look like another.
func (r *Rule) Bucket(dst []byte, req *Request) []byte {
	dst = append(dst, r.identity...)
	if r.Per == nil {
		return appendText(dst, req.Client)
	}
	for _, name := range r.Per {
		value, _ := req.attr(name)
		dst = appendText(dst, value)
	}
	return dst
}

func appendText[T string | []byte](dst []byte, text T) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}
