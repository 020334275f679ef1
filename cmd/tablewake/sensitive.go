package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
)

// sensitiveFile names, in a --local folder, the attributes that were sensitive in a
// configuration that wrote it, a pattern a line. What dead letters hold of them stays
// sensitive when a later configuration says no more of it.
const sensitiveFile = "sensitive.txt"

// rememberSensitive adds what is sensitive in cfg to what the folder remembers.
func rememberSensitive(dir string, cfg *config.Config) error {
	known, err := sensitiveIn(dir)
	if err != nil {
		return err
	}
	all := slices.Clone(known)
	for _, p := range cfg.Sensitive {
		if !slices.Contains(all, p.String()) {
			all = append(all, p.String())
		}
	}
	if len(all) == len(known) {
		return nil
	}
	return replaceFile(dir, sensitiveFile, []byte(strings.Join(all, "\n")+"\n"))
}

// sensitiveIn are the patterns that a folder remembers.
func sensitiveIn(dir string) ([]string, error) {
	b, err := os.ReadFile(filepath.Join(dir, sensitiveFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return strings.FieldsFunc(string(b), func(r rune) bool { return r == '\n' }), err
}

// folderMask hides what a folder remembers as sensitive, under a key that nobody
// keeps: no secret is needed to look into a folder, and the texts are equal for equal
// values within one output only.
func folderMask(dir string) (*pipeline.Mask, error) {
	texts, err := sensitiveIn(dir)
	if err != nil {
		return nil, err
	}
	var ps []pipeline.Pattern
	for _, text := range texts {
		p, err := pipeline.ParsePattern(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(dir, sensitiveFile), err)
		}
		ps = append(ps, p)
	}
	key := make([]byte, 32)
	rand.Read(key)
	return pipeline.NewMask(ps, key)
}

// maskLetter is a dead letter as it may be shown: its record masked, or left out where
// it does not decode, so that nobody can tell what of it is hidden.
func maskLetter(m *pipeline.Mask, l pipeline.DeadLetter) pipeline.DeadLetter {
	if m == nil {
		return l
	}
	d := pipeline.NewDecoder(pipeline.DecoderOptions{
		StreamARN: l.StreamARN, Table: l.Table, EpochZero: true, DynamoDBLocal: true, TableInKey: strings.Contains(string(l.Key), "!"),
	})
	page, err := d.Decode(l.Raw)
	switch {
	case err == nil && len(page.Changes) == 1 && len(page.Errors) == 0:
		c := &page.Changes[0]
		masked := m.Change(c)
		l.Key, l.Raw = masked.Key, masked.Raw
		for _, d := range slices.Concat(pipeline.Diff(c.Old, masked.Old), pipeline.Diff(c.New, masked.New)) {
			l.Error = maskText(m, l.Error, d.Old)
		}
	case err == nil && len(page.Errors) == 1 && len(page.Changes) == 0:
		e := m.RecordError(page.Errors[0])
		l.Key, l.Raw = e.Key, nil
		if was := page.Errors[0].Path; was != e.Path {
			l.Error = strings.ReplaceAll(l.Error, was, e.Path)
		}
	default:
		l.Raw = nil
		if l.Key != "" {
			l.Key = pipeline.Key(m.Text(string(l.Key)))
		}
	}
	return l
}

// maskText is the text of an error without the texts that v holds, as they are and as
// names of objects have them. What a letter's error says is masked where it is made;
// the name of an object that a sink may make of a sensitive attribute is not.
func maskText(m *pipeline.Mask, text string, v pipeline.Value) string {
	for _, inner := range v.Members() {
		text = maskText(m, text, inner)
	}
	for _, inner := range v.Elements() {
		text = maskText(m, text, inner)
	}
	held, _ := v.Text()
	if n, ok := v.Number(); ok {
		held = n.String()
	}
	if len(held) < 3 { // it would be found everywhere
		return text
	}
	for _, form := range []string{held, string(pipeline.AppendEscaped(nil, held))} {
		pattern, err := regexp.Compile("(?i)" + regexp.QuoteMeta(form))
		if err == nil {
			text = pattern.ReplaceAllLiteralString(text, m.Text(held))
		}
	}
	return text
}
