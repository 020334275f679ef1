package pipeline

// Path leads to one value of an image: Address.Lines[0].sku, ["first-name"].Tags[2].
type Path struct {
	segs []segment
}

type segment struct {
	name  string
	index int // -1 where name is set
}

// ParsePath reads a path. The error names the column.
func ParsePath(s string) (Path, error) { panic("decode") }
func (p Path) String() string          { panic("decode") }
func (p Path) IsZero() bool            { panic("decode") }

// Root is the top-level attribute that the path starts with.
func (p Path) Root() string { panic("decode") }
