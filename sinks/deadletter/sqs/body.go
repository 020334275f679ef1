package sqs

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/bounded"
	"github.com/tablewake/tablewake/sinks/deadletter"
)

// encode returns a letter as a message body. The body is the JSON of the letter. If the JSON is too large, or contains
// a character that SQS refuses, the body is base64 of its gzip. The first byte distinguishes the two forms.
func encode(l *pipeline.DeadLetter, maxBytes int) (string, error) {
	line, err := deadletter.Append(nil, l)
	if err != nil {
		return "", err
	}
	// SQS accepts the characters of XML. JSON escapes the control characters, so only these two refused characters can
	// remain.
	if len(line) <= maxBytes && !bytes.ContainsAny(line, "\ufffe\uffff") {
		return string(line), nil
	}
	var body strings.Builder
	encoder := base64.NewEncoder(base64.StdEncoding, &body)
	zip := gzip.NewWriter(encoder)
	if _, err := zip.Write(line); err != nil {
		return "", err
	}
	if err := zip.Close(); err != nil {
		return "", err
	}
	if err := encoder.Close(); err != nil {
		return "", err
	}
	return body.String(), nil
}

// decode returns the JSON of a letter from a message body.
func decode(body string) ([]byte, error) {
	if strings.HasPrefix(body, "{") {
		return []byte(body), nil
	}
	zip, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(body)))
	if err != nil {
		return nil, err
	}
	return bounded.ReadAll(zip, bounded.Object)
}
