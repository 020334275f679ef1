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

// jsonlBody builds an object of JSON lines. It compresses lines as they are added, so it keeps only compressed bytes.
type jsonlBody struct {
	pool       *compressorPool
	compressor compressor
	out        bytes.Buffer
	digest     hash.Hash
	lines      io.Writer
	versionRange
}

// versionRange has the lowest and the highest version of an object.
type versionRange struct {
	first, latest record.Version
}

// include widens the range to a version.
func (r *versionRange) include(v record.Version) {
	if r.first.IsZero() || v.Compare(r.first) < 0 {
		r.first = v
	}
	if r.latest.IsZero() || v.Compare(r.latest) > 0 {
		r.latest = v
	}
}

// name returns the name of an object in folder. The name has the versions of the range, the digest of the object's
// content, and the format.
func (r *versionRange) name(folder string, digest []byte, f Format) string {
	return fmt.Sprintf("%s%s-%s%s", folder, r.first, r.latest, nameEnd(digest, f))
}

// nameEnd returns the end of the name of an object with the given digest.
func nameEnd(digest []byte, f Format) string {
	return "-" + hex.EncodeToString(digest[:16]) + f.suffix()
}

// newJSONLBody returns an empty body.
func newJSONLBody(pool *compressorPool) (*jsonlBody, error) {
	b := &jsonlBody{pool: pool, digest: sha256.New()}
	var err error
	if b.compressor, err = pool.get(&b.out); err != nil {
		return nil, err
	}
	b.lines = io.MultiWriter(b.compressor, b.digest)
	return b, nil
}

var newline = []byte{'\n'}

// add appends a line. line has no line feed.
func (b *jsonlBody) add(line []byte, v record.Version) error {
	b.include(v)
	_, err := b.lines.Write(line)
	if err == nil {
		_, err = b.lines.Write(newline)
	}
	if err != nil {
		return fmt.Errorf("archive: compress: %w", err)
	}
	return nil
}

// finish sets the name and the body of o. The body is one buffer, since retries and uploads in parts read ranges of it
// again.
func (b *jsonlBody) finish(o *Object, folder string) error {
	if err := b.compressor.Close(); err != nil {
		return fmt.Errorf("archive: compress: %w", err)
	}
	b.pool.put(b.compressor) // after an error, the garbage collector takes it
	f := b.pool.format
	o.Name = b.name(folder, b.digest.Sum(nil), f)
	o.Body, o.ContentType = b.out.Bytes(), f.contentType()
	return nil
}
