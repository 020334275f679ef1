package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"

	"github.com/tablewake/tablewake/pipeline"
)

// body is an object of a log as it grows: its lines are compressed as they come, so
// that beside the changes, whose bytes stand in their pages, only what is
// written is held.
type body struct {
	packers       *compressors
	packer        compressor
	out           bytes.Buffer
	digest        hash.Hash
	lines         io.Writer
	first, latest pipeline.Version
	n             int
}

// newBody begins one; free it.
func newBody(packers *compressors) (*body, error) {
	b := &body{packers: packers, digest: sha256.New()}
	var err error
	if b.packer, err = packers.get(&b.out); err != nil {
		return nil, err
	}
	b.lines = io.MultiWriter(b.packer, b.digest)
	return b, nil
}

func (b *body) free() { b.packers.put(b.packer) }

var newline = []byte{'\n'}

// add takes a line without its line feed.
func (b *body) add(line []byte, v pipeline.Version) error {
	if b.n == 0 || v.Compare(b.first) < 0 {
		b.first = v
	}
	if b.n == 0 || v.Compare(b.latest) > 0 {
		b.latest = v
	}
	b.n++
	_, err := b.lines.Write(line)
	if err == nil {
		_, err = b.lines.Write(newline)
	}
	if err != nil {
		return fmt.Errorf("archive: compress: %w", err)
	}
	return nil
}

// finish gives o its name and its body. What is compressed is one buffer, as each
// try of a request, and each part of an upload, reads its range of it again.
func (b *body) finish(o *Object, folder string) error {
	if err := b.packer.Close(); err != nil {
		return fmt.Errorf("archive: compress: %w", err)
	}
	f := b.packers.format
	o.Name = fmt.Sprintf("%s%s-%s-%s%s", folder, b.first, b.latest, hex.EncodeToString(b.digest.Sum(nil)[:16]), f.suffix())
	o.Body, o.ContentType = b.out.Bytes(), f.contentType()
	return nil
}
