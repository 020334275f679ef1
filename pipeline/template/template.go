// Package template builds values from the attributes of a change by templates
// such as 'STATUS#{Status}' and '{CreatedAt|date:2006-01-02}#{@key}'.
package template

import "github.com/tablewake/tablewake/pipeline"

// Template is a parsed template. It is safe for concurrent use.
type Template struct{}

// Options shape parsing.
type Options struct {
	Each bool // {each.path} is allowed: under for_each only
}

// Parse reads a template. The error is an *Error.
func Parse(src string, o Options) (*Template, error) { panic("template") }

// Scope is what a template reads.
type Scope struct {
	Change *pipeline.Change
	Item   pipeline.Image // where paths are looked up
	Each   pipeline.Value // for {each.path}
}

// ScopeOf is the scope of archive and notify: a path reads the new image, else the old, else the keys.
func ScopeOf(c *pipeline.Change) Scope { panic("template") }

// Value evaluates the template: with its DynamoDB type where it is exactly one
// {path}, as an S otherwise. Absent where a path is missing, NULL or empty: then
// missing names it. An error (a value of a type that text cannot be made of, a bad
// date) is permanent.
func (t *Template) Value(s Scope) (v pipeline.Value, missing string, err error) { panic("template") }

// AppendText is Value as text, appended to dst.
func (t *Template) AppendText(dst []byte, s Scope) (out []byte, missing string, err error) {
	panic("template")
}

// AppendObjectKey appends the template as an object key: every placeholder escaped
// injectively, a missing value as _none.
func (t *Template) AppendObjectKey(dst []byte, s Scope) ([]byte, error) { panic("template") }

func (t *Template) String() string     { panic("template") }
func (t *Template) Paths() []string    { panic("template") } // item paths it reads, as written
func (t *Template) HasKey() bool       { panic("template") } // holds a {@key} that can be cut out of the result again
func (t *Template) EscPaths() []string { panic("template") } // paths that appear with |esc and can be cut out again
func (t *Template) Ambiguous() bool    { panic("template") } // segments could run together, as in {A}#{B}

// Error is a parse error with its place in the template.
type Error struct {
	Column  int // 1-based
	Message string
	Hint    string
}

func (e *Error) Error() string { panic("template") }
