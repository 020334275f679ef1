package sqlite

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/tablewake/tablewake/pipeline/decimal"
)

// clause is one condition of a query.
type clause struct {
	need     need
	findsAll bool   // the clause is a * alone, which every document matches
	field    string // "": any
	words    string // words that follow each other, as in indexed_words.go; "": none are requested
	isPrefix bool   // the last word may be longer

	// low and high are the smallest and the largest requested value, encoded as in sortable_values.go; nil: no value is
	// requested.
	low, high           any
	aboveLow, belowHigh bool // low, or high, is not itself a requested value
}

// need defines the effect of a clause on the result.
type need int

const (
	may need = iota // a document that matches is found, if it also matches all must clauses
	must
	mustNot
)

// maxClauses is the maximum number of clauses in a query. Each clause is a SELECT.
const maxClauses = 100

// QueryError reports the error of a query, and its position.
type QueryError struct {
	Query  string
	Column int // column in characters, from 1
	Text   string
}

// Error returns a text with the query.
func (e *QueryError) Error() string {
	return fmt.Sprintf("the query %q, column %d: %s", e.Query, e.Column, e.Text)
}

// parser parses a query. The package comment describes the language.
type parser struct {
	query string
	runes []rune
	at    int
}

// parse returns the clauses of a query. A query that matches all documents has no clauses.
func parse(query string) ([]clause, error) {
	p := &parser{query: query, runes: []rune(query)}
	var clauses []clause
	for p.skipSpace(); p.at < len(p.runes); p.skipSpace() {
		if len(clauses) == maxClauses {
			return nil, p.fail(p.at, "it has more than %d parts", maxClauses)
		}
		c, err := p.readClause()
		if err != nil {
			return nil, err
		}
		clauses = append(clauses, c)
	}

	findsAll := slices.ContainsFunc(clauses, func(c clause) bool { return c.findsAll })
	if !findsAll {
		return clauses, nil
	}
	if len(clauses) > 1 {
		return nil, p.fail(0, "* alone finds everything: leave the other parts out, or it")
	}
	return nil, nil
}

func (p *parser) fail(at int, format string, args ...any) error {
	return &QueryError{Query: p.query, Column: at + 1, Text: fmt.Sprintf(format, args...)}
}

func (p *parser) skipSpace() {
	for p.at < len(p.runes) && unicode.IsSpace(p.runes[p.at]) {
		p.at++
	}
}

// nextIs reports whether r comes next.
func (p *parser) nextIs(r rune) bool { return p.at < len(p.runes) && p.runes[p.at] == r }

func (p *parser) atWordEnd() bool { return p.at == len(p.runes) || unicode.IsSpace(p.runes[p.at]) }

// readClause reads a word, a phrase or a comparison with its sign and its field.
func (p *parser) readClause() (c clause, err error) {
	if c.need, err = p.readSign(); err != nil {
		return c, err
	}

	start := p.at
	t, err := p.readText(":")
	if err != nil {
		return c, err
	}
	if p.nextIs(':') {
		err = p.parseField(&c, start, t)
		return c, err
	}
	isBound := len(t) > 0 && !t[0].literal && (t[0].r == '<' || t[0].r == '>')
	if isBound {
		return c, p.fail(start, "%c needs a field: Price:%[1]c10", t[0].r)
	}
	err = p.parseTerm(&c, start, t)
	return c, err
}

// readSign reads the sign of a clause, if there is one.
func (p *parser) readSign() (n need, err error) {
	switch {
	case p.nextIs('+'):
		n = must
	case p.nextIs('-'):
		n = mustNot
	default:
		return may, nil
	}
	sign := p.at
	p.at++
	if p.atWordEnd() {
		return n, p.fail(sign, "%c stands alone: write it right before what must or must not be there", p.runes[sign])
	}
	return n, nil
}

// parseField parses the name of a field, and reads the words or the comparison after it. start is the position of the
// name.
func (p *parser) parseField(c *clause, start int, name text) error {
	c.field = name.String()
	if c.field == "" {
		return p.fail(p.at, "the name of a field is missing before the colon; quote the colon to look for it")
	}
	if err := p.refuseField(start, name.withoutLiterals()); err != nil {
		return err
	}

	p.at++ // the colon
	if p.atWordEnd() {
		return p.fail(p.at, "what the field %s is asked for is missing: write it right after the colon", c.field)
	}
	if p.nextIs('<') || p.nextIs('>') {
		return p.readBound(c)
	}
	start = p.at
	t, err := p.readText("")
	if err != nil {
		return err
	}
	return p.parseTerm(c, start, t)
}

// letter is one character of a query.
type letter struct {
	r       rune
	literal bool // the character was quoted, or follows a backslash
}

type text []letter

func (t text) String() string {
	var b strings.Builder
	for _, l := range t {
		b.WriteRune(l.r)
	}
	return b.String()
}

// withoutLiterals returns the text with each literal character replaced by x, which has no meaning in a query.
func (t text) withoutLiterals() string {
	var b strings.Builder
	for _, l := range t {
		if l.literal {
			l.r = 'x'
		}
		b.WriteRune(l.r)
	}
	return b.String()
}

// readText reads up to the next space or the next of the runes in ends, whichever is first and not literal.
func (p *parser) readText(ends string) (t text, err error) {
	for !p.atWordEnd() {
		switch r := p.runes[p.at]; {
		case strings.ContainsRune(ends, r):
			return t, nil
		case r == '\\':
			p.at++
			if p.at == len(p.runes) {
				return t, p.fail(p.at-1, `nothing follows the backslash: write \\ for one`)
			}
			t = append(t, letter{p.runes[p.at], true})
			p.at++
		case r == '"':
			if t, err = p.readQuoted(t); err != nil {
				return t, err
			}
		default:
			t = append(t, letter{r, false})
			p.at++
		}
	}
	return t, nil
}

// readQuoted reads a quoted text, and appends it to t.
func (p *parser) readQuoted(t text) (text, error) {
	start := p.at
	for p.at++; p.at < len(p.runes); p.at++ {
		switch r := p.runes[p.at]; {
		case r == '"':
			p.at++
			return t, nil
		case r == '\\' && p.at+1 < len(p.runes):
			p.at++
			fallthrough
		default:
			t = append(t, letter{p.runes[p.at], true})
		}
	}
	return t, p.fail(start, "the quote is not closed")
}

// readBound reads a comparison, such as >=10.
func (p *parser) readBound(c *clause) error {
	start := p.at
	isUpperBound := p.nextIs('<')
	p.at++
	includesBound := p.nextIs('=')
	if includesBound {
		p.at++
	}
	operator := string(p.runes[start:p.at])

	start = p.at
	t, err := p.readText("")
	if err != nil {
		return err
	}
	var bound, least, most any
	if d, err := decimal.Parse(t.String()); err == nil {
		bound, least, most = number(d), leastNumber, mostNumber
	} else if instant, ok := normalizeTime(t.String()); ok {
		bound, least, most = instant, leastTime, mostTime
	} else {
		return p.fail(start,
			`%s is followed by neither a number nor a date: Price:%[1]s10, CreatedAt:%[1]s"2026-01-15", CreatedAt:%[1]s"2026-01-15T10:00:00Z"`, operator)
	}

	if isUpperBound {
		c.low, c.high = least, bound
		c.belowHigh = !includesBound
	} else {
		c.low, c.high = bound, most
		c.aboveLow = !includesBound
	}
	return nil
}

// parseTerm sets the words or the values that a clause finds: a word, a phrase, a prefix, a number or a time. start is
// the position of the text t.
func (p *parser) parseTerm(c *clause, start int, t text) error {
	plain := t.withoutLiterals()
	if plain == "*" && c.field == "" && c.need == may {
		c.findsAll = true
		return nil
	}
	if err := p.unsupported(start, plain); err != nil {
		return err
	}

	c.isPrefix = strings.HasSuffix(plain, "*")
	if c.isPrefix {
		t = t[:len(t)-1]
	}
	text := t.String()
	c.words = string(appendWords(nil, text))
	if c.words == "" {
		return p.fail(start, "%s has no letters and no digits: there are no words to find", strconv.Quote(text))
	}
	if c.isPrefix {
		return nil
	}

	if d, err := decimal.Parse(text); err == nil {
		c.low, c.high = number(d), number(d)
	}
	if instant, ok := normalizeTime(text); ok {
		c.low, c.high = instant, instant
		if len(text) == len(time.DateOnly) { // a date means the whole day
			c.high = instant[:len(text)] + mostTime
		}
	}
	return nil
}

// refuseField returns an error for a field name that the language does not support.
func (p *parser) refuseField(start int, plain string) error {
	const quote = "; quote the name of a field that is so named"
	if plain == "_exists_" {
		return p.fail(start, "_exists_ is not supported: nothing finds the documents that have a field%s", quote)
	}
	if i := strings.IndexAny(plain, "*?"); i >= 0 {
		return p.fail(start+len([]rune(plain[:i])),
			"the wildcard %c in the name of a field is not supported: leave the field out to look in all%s", plain[i], quote)
	}
	if isOperator(plain) {
		return nil
	}
	return p.unsupported(start, plain)
}

func isOperator(plain string) bool {
	return plain == "AND" || plain == "OR" || plain == "NOT" || plain == "&&" || plain == "||" || plain == "!"
}

// unsupported returns an error for syntax that the language does not support.
func (p *parser) unsupported(start int, plain string) error {
	const quote = "; quote it to look for the text"
	last := len(plain) - 1
	hasMore := last > 0 // the text is longer than one character
	at := func(chars string) int { return start + len([]rune(plain[:strings.IndexAny(plain, chars)])) }
	_, err := decimal.Parse(plain)
	isNumber := err == nil
	switch {
	case isOperator(plain):
		return p.fail(start,
			"%s is not an operator: write + before what must be there and - before what must not, and nothing where any part will do%s", plain, quote)
	case hasMore && plain[0] == '!':
		return p.fail(start, "! is not an operator: write - before what must not be there%s", quote)
	case hasMore && (plain[0] == '+' || plain[0] == '-') && !isNumber:
		return p.fail(start, "%c stands before a part, and before the name of its field: +title:red -live:true%s", plain[0],
			quote)
	case hasMore && plain[0] == '/':
		return p.fail(start, "regular expressions are not supported%s", quote)
	case strings.IndexAny(plain, "[]{}") == 0:
		return p.fail(start,
			`ranges in brackets are not supported: write +CreatedAt:>="2026-01-01" +CreatedAt:<"2026-02-01"%s`, quote)
	case strings.ContainsAny(plain, "()"):
		return p.fail(at("()"), "groups in parentheses are not supported%s", quote)
	case endsWithMark(plain, '~'):
		return p.fail(at("~"), "fuzzy words and phrases are not supported: write the beginning of a word and *%s", quote)
	case endsWithMark(plain, '^'):
		return p.fail(at("^"), "boosts are not supported%s", quote)
	case strings.ContainsRune(plain, '?'):
		return p.fail(at("?"), "the wildcard ? is not supported: write the beginning of a word and *%s", quote)
	}

	star := strings.IndexByte(plain, '*')
	endsWord := star == last && hasMore
	if star >= 0 && !endsWord {
		return p.fail(at("*"), "the wildcard * is supported only at the end of a word%s", quote)
	}
	return nil
}

// endsWithMark reports whether text ends with mark, or with mark and a number, such as "red~" or "red~2".
func endsWithMark(text string, mark byte) bool {
	i := strings.LastIndexByte(text, mark)
	if i <= 0 {
		return false
	}
	rest := text[i+1:]
	_, err := strconv.ParseFloat(rest, 64)
	return rest == "" || err == nil
}
