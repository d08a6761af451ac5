package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rlserver/rlserver/limit"
)

// A document is a set of policies as text, in YAML or JSON:
//
//	policies:
//	  - name: login
//	    limit: 5
//	    window: 1m
//	    endpoint: POST /login
//	    attr: {country: ch}
//	    scope: login
//	    on_error: closed
//
// Each policy has the fields of Words. A version is allowed and ignored, so
// that what was exported can be applied.

// maxDocument bounds a document.
const maxDocument = 1 << 30 // bytes

// ReadSet reads a document and compiles its policies, in the order of their
// names. Errors name the policy and the word.
func ReadSet(r io.Reader, bounds limit.Bounds) ([]*Rule, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxDocument+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxDocument {
		return nil, fmt.Errorf("the document is longer than %d bytes", maxDocument)
	}
	top, err := parseDocument(text)
	if err != nil {
		return nil, err
	}
	list, err := policiesOf(top)
	if err != nil {
		return nil, err
	}
	var set []*Rule
	seen := map[string]bool{}
	for i, node := range list {
		rule, err := readNode(node, "", bounds)
		if err != nil {
			return nil, fmt.Errorf("policies[%d]%s: %w", i, lineOf(node), err)
		}
		if seen[rule.Name] {
			return nil, fmt.Errorf("policies[%d]%s: policy %s is in the document twice", i, lineOf(node), quote(rule.Name))
		}
		seen[rule.Name] = true
		set = append(set, rule)
	}
	slices.SortFunc(set, func(a, b *Rule) int { return strings.Compare(a.Name, b.Name) })
	return set, nil
}

// ReadOne reads one policy's fields, in JSON or YAML, and compiles it. The
// field name may be left out; given, it must be name, unless that is empty.
func ReadOne(text []byte, name string, bounds limit.Bounds) (*Rule, error) {
	node, err := parseDocument(text)
	if err != nil {
		return nil, err
	}
	return readNode(node, name, bounds)
}

// parseDocument returns the top of a document. JSON is read as such, since not
// all of it is YAML.
func parseDocument(text []byte) (*yaml.Node, error) {
	if trimmed := bytes.TrimSpace(text); len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[') && json.Valid(trimmed) {
		return jsonNode(json.NewDecoder(bytes.NewReader(trimmed)))
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var doc, more yaml.Node
	switch err := decoder.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, errors.New("the document is empty: a list `policies:` is wanted")
	case err != nil:
		return nil, err
	}
	if err := decoder.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, errors.New("the document has more than one part: one is allowed")
	}
	return doc.Content[0], nil
}

// jsonNode reads one JSON value as the same nodes that YAML gives.
func jsonNode(d *json.Decoder) (*yaml.Node, error) {
	d.UseNumber()
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch v := token.(type) {
	case json.Delim:
		node := &yaml.Node{Kind: yaml.MappingNode}
		if v == '[' {
			node.Kind = yaml.SequenceNode
		}
		for d.More() {
			child, err := jsonNode(d)
			if err != nil {
				return nil, err
			}
			node.Content = append(node.Content, child)
		}
		_, err := d.Token()
		return node, err
	case string:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: v}, nil
	case json.Number:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: v.String()}, nil
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(v)}, nil
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}, nil
}

func lineOf(node *yaml.Node) string {
	if node.Line == 0 {
		return ""
	}
	return fmt.Sprintf(" (line %d)", node.Line)
}

// policiesOf returns the list of a set's document.
func policiesOf(top *yaml.Node) ([]*yaml.Node, error) {
	const want = "the document must be a mapping with one field, policies, a list"
	if top.Kind != yaml.MappingNode || len(top.Content) != 2 {
		return nil, errors.New(want)
	}
	if top.Content[0].Value != "policies" {
		return nil, fmt.Errorf("%s; got %s", want, quote(top.Content[0].Value))
	}
	list := top.Content[1]
	if list.Kind == yaml.ScalarNode && list.Tag == "!!null" {
		return nil, nil
	}
	if list.Kind != yaml.SequenceNode {
		return nil, errors.New(want)
	}
	return list.Content, nil
}

// readNode reads a mapping as a policy.
func readNode(node *yaml.Node, name string, bounds limit.Bounds) (*Rule, error) {
	if node.Kind != yaml.MappingNode {
		return nil, errors.New("a policy must be a mapping of its fields, such as name, limit and window")
	}
	p := Policy{Name: name}
	words := Words()
	seen := map[string]bool{}
	for i := 0; i < len(node.Content); i += 2 {
		field, value := node.Content[i].Value, node.Content[i+1]
		if seen[field] {
			return nil, wrong(field, "is given twice")
		}
		seen[field] = true
		if err := readField(&p, words, field, value, name); err != nil {
			return nil, err
		}
	}
	return Compile(p, bounds)
}

func readField(p *Policy, words []Word, field string, value *yaml.Node, name string) error {
	switch field {
	case "name":
		if value.Kind != yaml.ScalarNode || name != "" && value.Value != name {
			return wrong("name", "must be %s, got %s", quote(name), quote(value.Value))
		}
		p.Name = value.Value
		return nil
	case "version":
		return nil
	}
	i := slices.IndexFunc(words, func(w Word) bool { return w.Field == field })
	if i < 0 {
		return wrong(quote(field), "is no field of a policy; there are %s", fieldNames(words))
	}
	err := words[i].read(p, value)
	if e, ok := errors.AsType[*Error](err); ok && e.Word == words[i].Name {
		return &Error{Word: field, Msg: e.Msg}
	}
	return err
}

func fieldNames(words []Word) string {
	all := []string{"name"}
	for _, word := range words {
		all = append(all, word.Field)
	}
	return strings.Join(all, ", ")
}

// read sets the word to a field's value.
func (w *Word) read(p *Policy, value *yaml.Node) error {
	if value.Kind == yaml.AliasNode {
		value = value.Alias
	}
	switch {
	case w.Repeat:
		return w.readPairs(p, value)
	case w.Values == 0:
		given, err := strconv.ParseBool(value.Value)
		if err != nil || value.Kind != yaml.ScalarNode {
			return wrong(w.Name, "must be true or false, got %s", quote(value.Value))
		}
		if !given {
			return nil
		}
		return w.Set(p, nil)
	case value.Kind == yaml.SequenceNode && w.List:
		var parts []string
		for _, part := range value.Content {
			parts = append(parts, part.Value)
		}
		if len(parts) == 0 {
			parts = []string{oneForAll}
		}
		return w.Set(p, [][]byte{[]byte(strings.Join(parts, ","))})
	case value.Kind != yaml.ScalarNode || value.Tag == "!!null":
		return wrong(w.Name, "must be one value")
	}
	text := value.Value
	if other, ok := documentSpellings()[text]; ok && w.Field == "on_error" {
		text = other
	}
	return w.Set(p, [][]byte{[]byte(text)})
}

// documentSpellings are how gateways call what ONERROR says.
func documentSpellings() map[string]string {
	return map[string]string{"fail_open": "local", "fail_closed": "closed"}
}

// readPairs reads {name: pattern, ...}.
func (w *Word) readPairs(p *Policy, value *yaml.Node) error {
	if value.Kind != yaml.MappingNode {
		return wrong(w.Name, "must be a mapping of names and patterns")
	}
	for i := 0; i < len(value.Content); i += 2 {
		if value.Content[i+1].Kind != yaml.ScalarNode {
			return wrong(w.Name, "must be a mapping of names and patterns")
		}
		if err := w.Set(p, [][]byte{[]byte(value.Content[i].Value), []byte(value.Content[i+1].Value)}); err != nil {
			return err
		}
	}
	return nil
}

// node is the policy as a document has it, with its version if it has one.
func (p *Policy) node() *yaml.Node {
	text := func(value string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value} }
	node := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{text("name"), text(p.Name)}}
	for _, word := range Words() {
		values := word.Get(p)
		if len(values) == 0 {
			continue
		}
		var value *yaml.Node
		switch {
		case word.Repeat:
			value = &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
			for _, pair := range values {
				value.Content = append(value.Content, text(pair[0]), text(pair[1]))
			}
		case word.Values == 0:
			value = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "true"}
		case word.Number:
			value = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: values[0][0]}
		default:
			value = text(values[0][0])
		}
		node.Content = append(node.Content, text(word.Field), value)
	}
	if p.Version != 0 {
		node.Content = append(node.Content, text("version"), &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.FormatUint(p.Version, 10)})
	}
	return node
}

// WriteYAML writes a document that ReadSet reads as the same policies.
func WriteYAML(w io.Writer, set []*Rule) error {
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for _, r := range set {
		list.Content = append(list.Content, r.node())
	}
	encoder := yaml.NewEncoder(w)
	encoder.SetIndent(2)
	top := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Value: "policies"}, list}}
	if err := encoder.Encode(top); err != nil {
		return err
	}
	return encoder.Close()
}

// AppendJSON appends the policy as a JSON object, which ReadOne reads.
func (p *Policy) AppendJSON(dst []byte) []byte { return appendJSON(dst, p.node()) }

// WriteJSON writes a document that ReadSet reads as the same policies.
func WriteJSON(w io.Writer, set []*Rule) error {
	text := []byte(`{"policies": [`)
	for i, r := range set {
		if i > 0 {
			text = append(text, ',')
		}
		text = r.AppendJSON(append(text, '\n'))
	}
	_, err := w.Write(append(text, "\n]}\n"...))
	return err
}

func appendJSON(dst []byte, node *yaml.Node) []byte {
	if node.Kind == yaml.ScalarNode {
		if node.Tag != "!!str" {
			return append(dst, node.Value...)
		}
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)   // it is read by people
		_ = encoder.Encode(node.Value) // a string always has a text
		return append(dst, bytes.TrimSpace(text.Bytes())...)
	}
	dst = append(dst, '{')
	for i := 0; i < len(node.Content); i += 2 {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = append(appendJSON(dst, node.Content[i]), ": "...)
		dst = appendJSON(dst, node.Content[i+1])
	}
	return append(dst, '}')
}
