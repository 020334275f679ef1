// Package expr compiles CEL expressions over the images of a change.
package expr

import "github.com/tablewake/tablewake/pipeline"

// Env is what expressions may name.
type Env struct {
	Attributes map[string]pipeline.Kind // declared types of top-level attributes; an expression that reads another one, or uses it against its type, fails to compile. Default: any
}

// Item is a compiled expression over `item`. It is safe for concurrent use.
type Item struct{}

var _ pipeline.ItemCondition = (*Item)(nil)

// CompileItem compiles an expression over `item`.
func (e Env) CompileItem(src string) (*Item, error)     { panic("expr") }
func (x *Item) Match(item pipeline.Image) (bool, error) { panic("expr") }
func (x *Item) Paths() []string                         { panic("expr") } // top-level attributes it reads
func (x *Item) String() string                          { panic("expr") }

// Change is a compiled expression over old, new, op, keys, time, ttl.
type Change struct{}

var _ pipeline.Condition = (*Change)(nil)

func (e Env) CompileChange(src string) (*Change, error)  { panic("expr") }
func (x *Change) Match(c *pipeline.Change) (bool, error) { panic("expr") }
func (x *Change) Requires() pipeline.Needs               { panic("expr") }
func (x *Change) Paths() []string                        { panic("expr") }
func (x *Change) KeysOnly() bool                         { panic("expr") } // reads nothing but keys, op, time
func (x *Change) String() string                         { panic("expr") }

// Error is a compile error with its place in the source.
type Error struct {
	Line, Column int // 1-based, within the expression
	Message      string
	Hint         string
}

func (e *Error) Error() string { panic("expr") }
