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
	w := wordWriter{dst: dst, begin: -1}
	for _, r := range text {
		switch {
		case r < utf8.RuneSelf:
			w.addASCII(byte(r))
		case unicode.Is(unicode.M, r):
			if w.begin >= 0 {
				w.dst = utf8.AppendRune(w.dst, unicode.ToLower(r))
			}
		case unicode.IsLetter(r) || unicode.IsNumber(r):
			w.addLetter(r)
		default:
			w.endWord()
		}
	}
	w.endWord()
	return w.dst
}

// wordWriter appends words letter by letter.
type wordWriter struct {
	dst    []byte
	begin  int  // start of the last word in dst; -1: it is complete
	single bool // the last word is a letter of singleLetterScripts
}

func (w *wordWriter) addASCII(c byte) {
	isUpper := 'A' <= c && c <= 'Z'
	isLowerOrDigit := 'a' <= c && c <= 'z' || '0' <= c && c <= '9'
	if !isUpper && !isLowerOrDigit {
		w.endWord()
		return
	}
	if isUpper {
		c += 'a' - 'A'
	}
	if w.begin < 0 || w.single {
		w.startWord()
		w.single = false
	}
	w.dst = append(w.dst, c)
}

func (w *wordWriter) addLetter(r rune) {
	single := unicode.In(r, singleLetterScripts...)
	if w.begin < 0 || w.single || single {
		w.startWord()
	}
	w.single = single
	w.dst = utf8.AppendRune(w.dst, unicode.ToLower(r))
}

func (w *wordWriter) startWord() {
	w.endWord()
	if len(w.dst) > 0 {
		w.dst = append(w.dst, ' ')
	}
	w.begin = len(w.dst)
}

// endWord completes the last word. A word that is too long is left out.
func (w *wordWriter) endWord() {
	if w.begin >= 0 && len(w.dst)-w.begin > maxWord {
		w.dst = w.dst[:max(w.begin-1, 0)]
	}
	w.begin = -1
}
