package pipeline

// Keep is the filter that drops every change for which c is false, counted under reason.
func Keep(reason string, c Condition) Filter { return filter{c, reason, false} }

// Drop is the filter that drops every change for which c is true, counted under reason.
func Drop(reason string, c Condition) Filter { return filter{c, reason, true} }

// filter drops where its condition says drop.
type filter struct {
	Condition
	reason string
	drop   bool
}

var (
	_ Filter    = filter{}
	_ Named     = filter{}
	_ Requirer  = filter{}
	_ KeyReader = filter{}
)

// Check asks the condition.
func (f filter) Check(c *Change) (Verdict, error) {
	match, err := f.Match(c)
	if err != nil || match != f.drop {
		return Verdict{}, err
	}
	return Verdict{Drop: true, Reason: f.reason}, nil
}

// Name is the reason under which drops are counted.
func (f filter) Name() string { return f.reason }

// Requires is what the condition needs.
func (f filter) Requires() Needs { return needs(f.Condition) }

// KeysOnly is what the condition says.
func (f filter) KeysOnly() bool { return ReadsKeysOnly(f.Condition) }
