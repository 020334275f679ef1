package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"

	"github.com/tablewake/tablewake/pipeline/record"
)

// body is an object of a log as it grows: its lines are compressed as they come, so
// that beside the changes, whose bytes stand in their pages, only what is
// written is held.
type body struct {
	packers *compressors
	packer  compressor
	out     bytes.Buffer
	digest  hash.Hash
	lines   io.Writer
	span
}

// span is from which version to which an object goes.
type span struct {
	first, latest record.Version
}

func (s *span) note(v record.Version) {
	if s.first.IsZero() || v.Compare(s.first) < 0 {
		s.first = v
	}
	if s.latest.IsZero() || v.Compare(s.latest) > 0 {
		s.latest = v
	}
}

// name is that of an object with that digest.
func (s *span) name(folder string, digest []byte, f Format) string {
	return fmt.Sprintf("%s%s-%s-%s%s", folder, s.first, s.latest, hex.EncodeToString(digest[:16]), f.suffix())
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

// sum is the digest of the lines until now.
func (b *body) sum() []byte { return b.digest.Sum(nil) }

func (b *body) free() { b.packers.put(b.packer) }

var newline = []byte{'\n'}

// add takes a line without its line feed.
func (b *body) add(line []byte, v record.Version) error {
	b.note(v)
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
	o.Name = b.name(folder, b.digest.Sum(nil), f)
	o.Body, o.ContentType = b.out.Bytes(), f.contentType()
	return nil
}
