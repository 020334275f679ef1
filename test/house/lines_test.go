package house

import (
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// maxColumns is the maximum number of characters of a line.
const maxColumns = 120

// TestLines_AreShort checks the lines of the product. A line with a text or a struct tag may be longer, and so may a table
// in a comment.
func TestLines_AreShort(t *testing.T) {
	for _, f := range tracked(t) {
		if !strings.HasSuffix(f, ".go") || strings.HasSuffix(f, "_test.go") || strings.HasPrefix(f, "test/") ||
			strings.Contains(f, "/testdata/") {
			continue
		}
		source, err := os.ReadFile(filepath.Join(root(t), f))
		if os.IsNotExist(err) {
			continue // deleted, and not yet committed
		} else if err != nil {
			t.Fatal(err)
		}
		for _, line := range longLines(source) {
			t.Errorf("%s:%d: the line has over %d characters: break it after a comma or an operator", f, line, maxColumns)
		}
	}
}

// longLines returns the numbers of the lines that are too long.
func longLines(source []byte) (numbers []int) {
	file := token.NewFileSet().AddFile("", -1, len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, scanner.ScanComments)
	withText := make(map[int]bool) // lines that a string literal touches
	for pos, tok, literal := s.Scan(); tok != token.EOF; pos, tok, literal = s.Scan() {
		if tok == token.STRING {
			first := file.Line(pos)
			for n := range 1 + strings.Count(literal, "\n") {
				withText[first+n] = true
			}
		}
	}
	for i, line := range strings.Split(string(source), "\n") {
		trimmed := strings.TrimLeft(line, "\t")
		isTable := strings.HasPrefix(trimmed, "//\t") || strings.HasPrefix(trimmed, "//  ")
		if utf8.RuneCountInString(line) > maxColumns && !withText[i+1] && !isTable {
			numbers = append(numbers, i+1)
		}
	}
	return numbers
}

// TestLines_ALongLineIsFound checks the check.
func TestLines_ALongLineIsFound(t *testing.T) {
	long := strings.Repeat("x, ", 50)
	source := "package p\n\nvar a = \"" + long + "\"\n\n// " + long + "\nfunc f(" + long + "y int) {}\n\n//\t" + long + "\n"
	if got := longLines([]byte(source)); len(got) != 2 || got[0] != 5 || got[1] != 6 {
		t.Errorf("the long lines are %v, want 5 and 6", got)
	}
}
