package pipeline

// Event is something that a detector saw in a change.
type Event struct {
	ID       string // deterministic, see EventID: the same for every delivery of the change
	Detector string
	Path     string // of the attribute, where there is one
	Old, New Value
	Change   *Change
}

// Detector compares the images of a change and appends the events it sees to dst.
// Detect is called concurrently and must be pure. The pipeline sets ID, Detector and Change.
type Detector interface {
	Detect(dst []Event, c *Change) ([]Event, error)
}

// DetectorFunc makes a function a Detector.
type DetectorFunc func(dst []Event, c *Change) ([]Event, error)

// Detect calls f.
func (f DetectorFunc) Detect(dst []Event, c *Change) ([]Event, error) { return f(dst, c) }
