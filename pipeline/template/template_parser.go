package template

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tablewake/tablewake/pipeline/entity"
	"github.com/tablewake/tablewake/pipeline/internal/nearest"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// Options are the options of [Parse].
type Options struct {
	Each     bool        // allow {each.path}, as under for_each. Default: an error
	Identity bool        // allow {@each}, as in a view with for_each. Default: an error
	Shard    bool        // allow {@shard}, as in the key of a view. Default: an error
	Entities *entity.Set // for {@entity}. Default: an error
	// Scope has the entities of the rule. With a Scope, a template can read the names that the keys of these entities
	// bind, and {item.path} is a path. Default: none
	Scope *entity.Scope
}

// Parse parses a template. The error is an *Error.
func Parse(src string, o Options) (*Template, error) {
	p := parser{src: src, options: o}
	t, err := p.parseTemplate()
	if err != nil {
		return nil, err
	}
	return t, nil
}

// parser parses src. at is the position of the next byte.
type parser struct {
	src     string
	at      int
	options Options
}

func (p *parser) fail(at int, hint, format string, args ...any) *Error {
	return &Error{Column: column(p.src, at), Message: fmt.Sprintf(format, args...), Hint: hint}
}

func (p *parser) parseTemplate() (*Template, *Error) {
	t := &Template{src: p.src}
	var literal strings.Builder
	for p.at < len(p.src) {
		rest := p.src[p.at:]
		switch {
		case strings.HasPrefix(rest, "{{"), strings.HasPrefix(rest, "}}"):
			literal.WriteByte(rest[0])
			p.at += 2
		case rest[0] == '}':
			return nil, p.fail(p.at, "write }} for a literal brace", "} closes nothing")
		case rest[0] == '{':
			h, err := p.parsePlaceholder()
			switch {
			case err != nil:
				return nil, err
			case h.source == fromShard && t.HasShard():
				return nil, p.fail(p.at-len("@shard}"), "remove one of them", "{@shard} is in the template twice")
			}
			t.literals = append(t.literals, literal.String())
			literal.Reset()
			t.placeholders = append(t.placeholders, h)
		default:
			n := strings.IndexAny(rest, "{}")
			if n < 0 {
				n = len(rest)
			}
			literal.WriteString(rest[:n])
			p.at += n
		}
	}
	t.literals = append(t.literals, literal.String())
	if len(t.placeholders) == 0 && t.literals[0] != "" {
		t.constant = item.StringValue(t.literals[0])
	}
	return t, nil
}

// parsePlaceholder parses a placeholder, from its opening brace to its closing brace.
func (p *parser) parsePlaceholder() (placeholder, *Error) {
	var h placeholder
	open := p.at
	end, err := p.headEnd(open)
	if err != nil {
		return h, err
	}
	if err := p.parseHead(&h, open+1, end); err != nil {
		return h, err
	}
	p.at = end
	if h.calls, err = p.parseCalls(open); err != nil {
		return h, err
	}
	if h.source == fromShard && (h.optional || len(h.calls) > 0) {
		return h, p.fail(open+1, "write {@shard}",
			"{@shard} is a decimal number from 0 on, and takes no function and no ?")
	}
	p.at++
	return h, nil
}

// headEnd returns the end of the path: the first | or } outside quotes.
func (p *parser) headEnd(open int) (int, *Error) {
	quoted := false
	for i := open + 1; i < len(p.src); i++ {
		switch c := p.src[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '|' || c == '}':
			return i, nil
		case c == '{':
			return 0, p.fail(i, "write {{ for a literal brace", "{ inside a placeholder")
		}
	}
	return 0, p.unclosedError(open)
}

func (p *parser) unclosedError(open int) *Error {
	return p.fail(open, "close it with }, or write {{ for a literal brace", "the placeholder is not closed")
}

// parseHead parses the path or @ name of a placeholder.
func (p *parser) parseHead(h *placeholder, from, to int) *Error {
	text := p.src[from:to]
	text, h.optional = strings.CutSuffix(text, "?")
	h.name = text
	switch {
	case text == "":
		return p.fail(from, "name an attribute, as in {Status}, or write {{ and }} for literal braces",
			"the placeholder is empty")
	case strings.TrimSpace(text) != text:
		return p.fail(from, "write {"+strings.TrimSpace(text)+
			`}; a name that begins or ends with a space is written {[" name "]}`, "space around %q", strings.TrimSpace(text))
	case text[0] == '@':
		return p.parseAtName(h, from, text)
	}
	if rest, ok := strings.CutPrefix(text, "each"); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
		return p.parseEach(h, from, rest)
	}
	if p.options.Scope != nil {
		if h.bound = p.options.Scope.Binding(text); h.bound != nil {
			h.source = fromBound
			return nil
		}
		if rest, ok := item.CutItem(text); ok {
			h.name = rest
			return p.parsePath(h, from+len(text)-len(rest), rest)
		}
	}
	return p.parsePath(h, from, text)
}

// atNames are the names after @, in the order of the source constants from fromKey on.
var atNames = []string{"key", "version", "seq", "time", "op", "table", "shard", "entity", "each"}

// parseAtName parses an @ name.
func (p *parser) parseAtName(h *placeholder, from int, text string) *Error {
	i := slices.Index(atNames, text[1:])
	if i < 0 {
		hint := "known are @key @version @seq @time @op @table @entity"
		if name := nearest.Name(text[1:], atNames); name != "" {
			hint = fmt.Sprintf("did you mean @%s?", name)
		}
		return p.fail(from, hint, "unknown name %s", text)
	}
	h.source = fromKey + source(i)
	switch {
	case h.source == fromShard && !p.options.Shard:
		return p.fail(from, "remove it", "{@shard} is only for the partition key of a view with shards")
	case h.source == fromIdentity && !p.options.Identity:
		return p.fail(from, "remove it, or add for_each: PATH of the list to a view",
			"{@each} is the identity of an element, and there is none here")
	case h.source == fromEntity && p.options.Entities == nil:
		return p.fail(from, "add entities: {NAME: {key: {PK: 'PATTERN'}}} at the top",
			"@entity is the name of an entity, and the file has none")
	case h.source == fromEntity:
		h.entities = p.options.Entities
	}
	return nil
}

// parseEach parses rest, the text after `each` in a placeholder. It is any number of [index], and then an ordinary
// path.
func (p *parser) parseEach(h *placeholder, from int, rest string) *Error {
	if !p.options.Each {
		return p.fail(from, `an attribute named each is written {["each"]}`,
			"{each} is the element of a list, and there is none without for_each")
	}
	h.source = fromEach
	at := from + len("each")
	for {
		i, after, ok := cutIndex(rest)
		if !ok {
			break
		}
		h.indexes = append(h.indexes, i)
		at += len(rest) - len(after)
		rest = after
	}
	if rest == "" {
		return nil
	}
	if name, ok := strings.CutPrefix(rest, "."); ok {
		if strings.HasPrefix(name, "[") {
			return p.fail(at, "", "a path continues with .name, [index] or [\"name\"]")
		}
		at, rest = at+1, name
	}
	return p.parsePath(h, at, rest)
}

// cutIndex cuts an [index] from the beginning of a path.
func cutIndex(path string) (index int, after string, ok bool) {
	inBrackets, ok := strings.CutPrefix(path, "[")
	if !ok {
		return 0, "", false
	}
	digits, after, ok := strings.Cut(inBrackets, "]")
	index, err := strconv.Atoi(digits)
	isCanonical := err == nil && index >= 0 && digits == strconv.Itoa(index)
	return index, after, ok && isCanonical
}

func (p *parser) parsePath(h *placeholder, from int, text string) *Error {
	path, err := item.ParsePath(text)
	if err != nil {
		return p.fail(from, "", "%q is no path: %v", text, err)
	}
	h.path = path
	return nil
}

// errs makes this package's errors. Their redacted text holds no data.
const errs = redact.Class("template")

// Error is a parse error with its position in the template.
type Error struct {
	Column  int // 1-based, in characters
	Message string
	Hint    string // what to write instead; "" if unknown
}

// Error returns the position, the message and the hint.
func (e *Error) Error() string {
	text := fmt.Sprintf("template column %d: %s", e.Column, e.Message)
	if e.Hint != "" {
		text += " (" + e.Hint + ")"
	}
	return text
}

// column returns the column of the byte at an index of src.
func column(src string, at int) int {
	return utf8.RuneCountInString(src[:at]) + 1
}
