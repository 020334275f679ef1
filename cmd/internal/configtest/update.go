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
		es, err := f.caseEdits(r)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %s: %w", f.Path, r.Case.Line, r.Case.Name, err)
		}
		edits, changed = append(edits, es...), append(changed, r.Case)
	}
	if len(edits) == 0 {
		return nil, nil
	}
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
	cases := make(map[string]*Case, len(f.Cases))
	for _, c := range f.Cases {
		cases[c.Name] = c
	}
	for _, r := range results {
		if r.Err != nil {
			continue
		}
		c, ok := cases[r.Case.Name]
		if !ok || len(c.Expect) != len(r.got) {
			return fmt.Errorf("case %s would change its form", r.Case.Name)
		}
		for n, x := range c.Expect {
			if len(compare(x, r.got[n].want, nil)) > 0 {
				return fmt.Errorf("case %s: %s would not say what came", c.Name, x)
			}
		}
	}
	return nil
}

// caseEdits returns the edits that replace the entries of one case that differ.
func (f *File) caseEdits(r *Result) ([]edit, error) {
	t := &fileText{lines: strings.SplitAfter(string(f.text), "\n")}
	if r.Case.noExpect {
		e, err := t.addExpect(r)
		return []edit{e}, err
	}
	var edits []edit
	for i, x := range r.Case.Expect {
		differs := slices.ContainsFunc(r.Differences,
			func(d Difference) bool { return d.Line == x.line && d.Where == x.String() })
		if !differs {
			continue
		}
		if x.at.Alias {
			return nil, fmt.Errorf("%s stands behind an alias, which other tests may share: write it out first", x)
		}
		e := edit{t.afterKey(x.at.Key), t.valueEnd(x.at), r.got[i].want.block(x.at.Key.Column - 1)}
		switch {
		case x.flow:
			e.text = " " + r.got[i].want.String()
		case x.at.Node.Line > x.at.Key.Line && e.text[0] == '\n':
			e.from = t.lineEnd(x.at.Key.Line) // a comment after the key stays
		}
		edits = append(edits, e)
	}
	return edits, nil
}

// fileText is the text of a file in lines.
type fileText struct {
	lines []string // lines of the file, each with its line feed
}

// offset returns the byte offset of a line and column. Both start at 1; a column counts characters.
func (t *fileText) offset(line, column int) int {
	n := 0
	for _, l := range t.lines[:line-1] {
		n += len(l)
	}
	for i := range t.lines[line-1] {
		if column--; column == 0 {
			return n + i
		}
	}
	return n + len(t.lines[line-1])
}

// textFrom returns the text from an offset to the end.
func (t *fileText) textFrom(from int) string { return strings.Join(t.lines, "")[from:] }

// afterKey returns the offset after the colon of a key.
func (t *fileText) afterKey(key *yaml.Node) int {
	from := t.offset(key.Line, key.Column)
	rest := t.textFrom(from)
	n := len(key.Value)
	if rest[0] == '"' || rest[0] == '\'' {
		n = len(flowToken.FindString(rest))
	}
	return from + n + strings.IndexByte(rest[n:], ':') + 1
}

// valueEnd returns the offset after the last byte of a list or mapping.
func (t *fileText) valueEnd(p *fileValue) int {
	if p.Node.Style&yaml.FlowStyle == 0 {
		return t.blockEnd(p.Key.Line, p.Key.Column-1)
	}
	from := t.offset(p.Node.Line, p.Node.Column)
	return from + flowEnd(t.textFrom(from))
}

// blockEnd returns the end of the last line of a key's value. The lines of the value are indented deeper than the key,
// or start with the dash of a list.
func (t *fileText) blockEnd(line, indent int) int {
	last := line
	for l := line + 1; l <= len(t.lines); l++ {
		content := strings.TrimLeft(t.lines[l-1], " ")
		depth := len(t.lines[l-1]) - len(content)
		if strings.TrimSpace(content) == "" || content[0] == '#' {
			continue
		}
		if depth < indent || depth == indent && !strings.HasPrefix(content, "- ") && strings.TrimSpace(content) != "-" {
			break
		}
		last = l
	}
	return t.lineEnd(last)
}

// lineEnd returns the offset after the text of a line.
func (t *fileText) lineEnd(line int) int {
	return t.offset(line, 1) + len(strings.TrimRight(t.lines[line-1], " \r\n"))
}

// flowToken matches a comment, a quoted scalar, a plain scalar, or one character of a flow value.
var flowToken = regexp.MustCompile(`(?s)^(?:#[^\n]*|'(?:[^']|'')*'|"(?:[^"\\]|\\.)*"|` +
	`[^\s[\]{},:](?:[^\s[\]{},:]|:[^\s[\]{},"']|\s+[^\s[\]{},:#])*|.)`)

// flowEnd returns the length of the braces or brackets at the start of s.
func flowEnd(s string) (n int) {
	for depth := 0; n < len(s); {
		token := flowToken.FindString(s[n:])
		n += len(token)
		switch token {
		case "{", "[":
			depth++
		case "}", "]":
			if depth--; depth == 0 {
				return n
			}
		}
	}
	return n
}

// addExpect returns the edit that adds `expect` to a case.
func (t *fileText) addExpect(r *Result) (edit, error) {
	n := r.Case.node
	if n.Kind != yaml.MappingNode || n.Style&yaml.FlowStyle != 0 {
		return edit{}, errors.New("write the case in lines, without braces around it, so that `expect` can be added")
	}
	if len(r.got) == 0 {
		return edit{}, errors.New("nothing came: write what the test expects, as `rows: {SINK: []}`")
	}
	indent := n.Column - 1
	margin := "\n" + strings.Repeat(" ", indent)
	var b strings.Builder
	b.WriteString(margin + "expect:")
	var last *section
	for _, x := range r.got {
		if x.section != last {
			b.WriteString(margin + "  " + x.section.name + ":")
			last = x.section
		}
		if x.name == "" {
			b.WriteString(x.want.block(indent + 2))
			continue
		}
		b.WriteString(margin + "    " + scalarText(x.name) + ":" + x.want.block(indent+4))
	}
	at := t.blockEnd(n.Line, indent-1)
	return edit{at, at, b.String()}, nil
}
