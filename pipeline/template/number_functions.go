package template

import (
	"bytes"
	"unicode/utf8"

	"github.com/tablewake/tablewake/pipeline/decimal"
)

const useSortable = "use |sortable, which sorts all numbers"

// pad adds zeros in front of the text dst[start:] up to a width in characters, so that the texts of numbers sort by
// value. If fraction is 0 or more, the text must be a number. pad then rounds the number down to fraction digits after
// the point. The width includes the point and these digits. If fraction is -1, the text is a whole number or any other
// text.
//
// pad returns an error for a number that would not sort by its text. A negative number is an error, and so is a number
// that is too long. If fraction is -1, a number with digits after the point is an error, too.
func pad(dst []byte, start, width, fraction int) ([]byte, error) {
	number, ok := cutNumber(dst[start:])
	switch {
	case !ok && fraction >= 0:
		return dst, errs.New("pad with a fraction takes numbers")
	case !ok:
		return insertZeros(dst, start, width-utf8.RuneCount(dst[start:])), nil
	case number.isNegative:
		return dst, errs.New("pad takes no negative number: " + useSortable)
	case fraction < 0 && number.fraction > 0:
		return dst, errs.New("the number has a fraction: write |pad:12.2 for two digits of it, or " + useSortable)
	}
	if fraction >= 0 {
		dst = cutFraction(dst, number.fraction, fraction)
	}
	missing := width - (len(dst) - start)
	if missing < 0 {
		return dst, errs.Errorf("the number has more than pad's %d characters: "+useSortable, width)
	}
	return insertZeros(dst, start, missing), nil
}

// numberParts describes the text of a number without an exponent.
type numberParts struct {
	isNegative bool
	fraction   int // number of digits after the point
}

// cutNumber returns the parts of a number without an exponent. It returns false for any other text.
func cutNumber(text []byte) (numberParts, bool) {
	text, isNegative := bytes.CutPrefix(text, []byte("-"))
	whole, fraction, hasPoint := bytes.Cut(text, []byte("."))
	if len(whole) == 0 || !isDigits(whole) || !isDigits(fraction) || hasPoint && len(fraction) == 0 {
		return numberParts{}, false
	}
	return numberParts{isNegative, len(fraction)}, true
}

func isDigits(text []byte) bool {
	for _, b := range text {
		if b < '0' || b > '9' {
			return false
		}
	}
	return true
}

// cutFraction changes how many digits the number at the end of dst has after the point. digits is the present count,
// and wanted is the new count. cutFraction removes digits, or adds zeros.
func cutFraction(dst []byte, digits, wanted int) []byte {
	if digits > wanted {
		dst = dst[:len(dst)-(digits-wanted)]
		if wanted == 0 {
			dst = dst[:len(dst)-1] // the point
		}
		return dst
	}
	if digits == 0 && wanted > 0 {
		dst = append(dst, '.')
	}
	for range wanted - digits {
		dst = append(dst, '0')
	}
	return dst
}

// insertZeros inserts n zeros before dst[start:].
func insertZeros(dst []byte, start, n int) []byte {
	if n <= 0 {
		return dst
	}
	end := len(dst)
	for range n {
		dst = append(dst, '0')
	}
	copy(dst[start+n:], dst[start:end])
	for i := range n {
		dst[start+i] = '0'
	}
	return dst
}

// toSortable replaces a number by the text of [decimal.Decimal.AppendSortable].
func toSortable(dst []byte, start int) ([]byte, error) {
	d, err := decimal.Parse(dst[start:])
	if err != nil {
		return dst, errs.Errorf("sortable takes numbers: %w", err)
	}
	return d.AppendSortable(dst[:start]), nil
}
