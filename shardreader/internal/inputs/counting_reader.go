package inputs

import (
	"io"
	"sync/atomic"
)

// CountingReader adds the number of bytes that it reads to N.
type CountingReader struct {
	io.Reader
	N *atomic.Int64
}

// Read implements io.Reader.
func (c *CountingReader) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.N.Add(int64(n))
	return n, err
}
