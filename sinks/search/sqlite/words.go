package sqlite

import (
	"unicode"
	"unicode/utf8"
)

// maxWord is the longest word that is indexed, in bytes. Longer words, such as the base64 of a binary, are left out.
const maxWord = 256

// separator is a word that no query contains. It separates the values of a list, so that no phrase matches the end of
// one value and the beginning of the next.
const separator = "\ue000"

// singleLetterScripts are the scripts that are written without spaces, so each letter is a word.
var singleLetterScripts = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Thai, unicode.Lao, unicode.Khmer,
	unicode.Myanmar}

// appendWords appends the words of text to dst in lower case, with a space between two words. The marks of a letter
// belong to its word.
func appendWords(dst []byte, text string) []byte {
	begin := -1 // start of the last word in dst; -1: it is complete
	single := false
	end := func() {
		if begin >= 0 && len(dst)-begin > maxWord {
			dst = dst[:max(begin-1, 0)]
		}
		begin = -1
	}
	start := func() {
		end()
		if len(dst) > 0 {
			dst = append(dst, ' ')
		}
		begin = len(dst)
	}
	for _, r := range text {
		if r < utf8.RuneSelf {
			switch {
			case 'A' <= r && r <= 'Z':
				r += 'a' - 'A'
			case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			default:
				end()
				continue
			}
			if begin < 0 || single {
				start()
				single = false
			}
			dst = append(dst, byte(r))
			continue
		}
		switch {
		case unicode.Is(unicode.M, r):
			if begin < 0 {
				continue
			}
		case !unicode.IsLetter(r) && !unicode.IsNumber(r):
			end()
			continue
		default:
			is := unicode.In(r, singleLetterScripts...)
			if begin < 0 || single || is {
				start()
			}
			single = is
		}
		dst = utf8.AppendRune(dst, unicode.ToLower(r))
	}
	end()
	return dst
}
