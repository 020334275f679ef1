package config

// With is the `with` of a custom sink: whatever the sink wants to be told.
type With struct {
	decode func(out any) error
}

// Decode stores the settings in the struct or map that out points to, by its
// `yaml` tags. A key that the struct does not have is an error with its line.
func (w With) Decode(out any) error { return w.decode(out) }
