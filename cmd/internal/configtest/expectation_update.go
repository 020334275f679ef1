package configtest

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/private"
)

// edit replaces a range of a file's bytes.
type edit struct {
	from, to int
	text     string
}

// Update replaces the entries of `expect` that differ from the results, and returns the changed cases. It keeps
// comments, the layout of all other entries, and cases that could not be run. If Update fails, the file stays
// unchanged.
func (f *File) Update(cfg *config.Config, results []*Result) ([]*Case, error) {
	var edits []edit
	var changed []*Case
	for _, r := range results {
		if r.Err != nil || len(r.Differences) == 0 {
			continue
		}
		caseEdits, err := f.caseEdits(r)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %s: %w", f.Path, r.Case.Line, r.Case.Name, err)
		}
		edits = append(edits, caseEdits...)
		changed = append(changed, r.Case)
	}
	if len(edits) == 0 {
		return nil, nil
	}
	// Edits from the end to the beginning keep the offsets of the edits that follow.
	slices.SortFunc(edits, func(a, b edit) int { return b.from - a.from })
	out := slices.Clone(f.text)
	for _, e := range edits {
		out = slices.Replace(out, e.from, e.to, []byte(e.text)...)
	}
	if err := checkUpdated(f.Path, out, cfg, results); err != nil {
		return nil, fmt.Errorf(
			"%s cannot be updated in place, and is as it was: %w; remove the `expect` of the case, and update again", f.Path,
			err)
	}
	return changed, private.WriteFile(f.Path, "", out)
}

// checkUpdated returns an error unless b is a file of tests that expects the actual contents in results.
func checkUpdated(path string, b []byte, cfg *config.Config, results []*Result) error {
	f, err := parse(path, b, cfg)
	if err != nil {
		return err
	}
	for _, r := range results {
		if r.Err != nil {
			continue
		}
		i := slices.IndexFunc(f.Cases, func(c *Case) bool { return c.Name == r.Case.Name })
		if i < 0 || len(f.Cases[i].Expect) != len(r.actual) {
			return fmt.Errorf("case %s would change its form", r.Case.Name)
		}
		for n, expected := range f.Cases[i].Expect {
			if !expected.isMet(r.actual[n].contents) {
				return fmt.Errorf("case %s: %s would not say what came", r.Case.Name, expected)
			}
		}
	}
	return nil
}

// caseEdits returns the edits for one case. They replace the entries of `expect` that differ from the result.
func (f *File) caseEdits(r *Result) ([]edit, error) {
	t := fileText(f.text)
	if len(r.Case.Expect) == 0 {
		e, err := t.addExpect(r)
		return []edit{e}, err
	}
	var edits []edit
	for i, x := range r.Case.Expect {
		if x.isMet(r.actual[i].contents) {
			continue
		}
		if x.at.Alias {
			return nil, fmt.Errorf("%s stands behind an alias, which other tests may share: write it out first", x)
		}
		edits = append(edits, t.entryEdit(x, r.actual[i].contents))
	}
	return edits, nil
}

// entryEdit returns the edit that replaces the contents of an entry.
func (t fileText) entryEdit(x expectation, actual entries) edit {
	key := x.at.Key
	text := actual.block(key.Column - 1)
	if x.flow {
		text = " " + valueText(actual.value())
	}
	from := t.afterKey(key)
	wasBelowKey, isBelowKey := x.at.Node.Line > key.Line, strings.HasPrefix(text, "\n")
	if wasBelowKey && isBelowKey {
		from = t.lineEnd(key.Line) // a comment after the key stays
	}
	return edit{from, t.valueEnd(x.at), text}
}

// fileText is the text of a file.
type fileText string

// lines returns the lines, each with its line feed.
func (t fileText) lines() []string { return strings.SplitAfter(string(t), "\n") }

// offset returns the byte offset of a line and column. Both start at 1; a column counts characters.
func (t fileText) offset(line, column int) int {
	lines := t.lines()
	start := len(strings.Join(lines[:line-1], ""))
	characters := []rune(lines[line-1])
	return start + len(string(characters[:min(column-1, len(characters))]))
}

// afterKey returns the offset after the colon of a key.
func (t fileText) afterKey(key *yaml.Node) int {
	keyStart := t.offset(key.Line, key.Column)
	rest := string(t[keyStart:])
	keyLen := len(key.Value)
	if rest[0] == '"' || rest[0] == '\'' {
		keyLen = len(flowToken.FindString(rest))
	}
	colon := strings.IndexByte(rest[keyLen:], ':')
	return keyStart + keyLen + colon + 1
}

// valueEnd returns the offset after the last byte of a list or mapping.
func (t fileText) valueEnd(v *fileValue) int {
	if !isFlow(v) {
		return t.blockEnd(v.Key.Line, v.Key.Column-1)
	}
	start := t.offset(v.Node.Line, v.Node.Column)
	return start + flowLen(string(t[start:]))
}

// blockEnd returns the offset of the end of a key's value. line and indent are the line and the indentation of the key.
// The lines of the value are indented deeper than the key, or start with the dash of a list.
func (t fileText) blockEnd(line, indent int) int {
	last := line
	for i, text := range t.lines()[line:] {
		content := strings.TrimLeft(text, " ")
		depth := len(text) - len(content)
		isBlank := strings.TrimSpace(content) == ""
		if isBlank || content[0] == '#' {
			continue
		}
		isDash := strings.HasPrefix(content, "- ") || strings.TrimSpace(content) == "-"
		belongsToKey := depth > indent || depth == indent && isDash
		if !belongsToKey {
			break
		}
		last = line + 1 + i
	}
	return t.lineEnd(last)
}

// lineEnd returns the offset after the text of a line.
func (t fileText) lineEnd(line int) int {
	return t.offset(line, 1) + len(strings.TrimRight(t.lines()[line-1], " \r\n"))
}

// flowToken matches a comment, a quoted scalar, a plain scalar, or one character of a flow value.
var flowToken = regexp.MustCompile(`(?s)^(?:#[^\n]*|'(?:[^']|'')*'|"(?:[^"\\]|\\.)*"|` +
	`[^\s[\]{},:](?:[^\s[\]{},:]|:[^\s[\]{},"']|\s+[^\s[\]{},:#])*|.)`)

// flowLen returns the length of the value in braces or brackets at the start of s.
func flowLen(s string) (n int) {
	depth := 0
	for n < len(s) {
		token := flowToken.FindString(s[n:])
		n += len(token)
		switch token {
		case "{", "[":
			depth++
		case "}", "]":
			depth--
			if depth == 0 {
				return n
			}
		}
	}
	return n
}

// addExpect returns the edit that adds `expect` to a case.
func (t fileText) addExpect(r *Result) (edit, error) {
	node := r.Case.node
	isBlock := node.Kind == yaml.MappingNode && node.Style&yaml.FlowStyle == 0
	if !isBlock {
		return edit{}, errors.New("write the case in lines, without braces around it, so that `expect` can be added")
	}
	if len(r.actual) == 0 {
		return edit{}, errors.New("nothing came: write what the test expects, as `rows: {SINK: []}`")
	}
	indent := node.Column - 1
	margin := "\n" + strings.Repeat(" ", indent)
	var b strings.Builder
	b.WriteString(margin + "expect:")
	var previous *section
	for _, x := range r.actual {
		if x.section != previous {
			b.WriteString(margin + "  " + x.section.name + ":")
			previous = x.section
		}
		if x.name == "" {
			b.WriteString(x.contents.block(indent + 2))
			continue
		}
		b.WriteString(margin + "    " + scalarText(x.name) + ":" + x.contents.block(indent+4))
	}
	end := t.blockEnd(node.Line, indent-1) // the case ends at a line with less indentation
	return edit{from: end, to: end, text: b.String()}, nil
}
