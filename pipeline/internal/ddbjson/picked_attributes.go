package ddbjson

// AppendPicked appends an object with some attributes of the checked item doc. attrs is the index of doc, and picks has
// the positions of these attributes in attrs. AppendPicked also appends the index of the new object to index.
func AppendPicked(dst []byte, index []Attr, doc []byte, attrs []Attr, picks []int) ([]byte, []Attr) {
	start := len(dst)
	dst = append(dst, '{')
	for n, i := range picks {
		if n > 0 {
			dst = append(dst, ',')
		}
		nameStart, nameEnd, from, to := AttrAt(doc, attrs, i)
		end := to
		if attrs[i].Tag() <= TagB { // the closing quote; {} has another tag
			end++
		}
		end = AfterBrace(doc, end)
		shift := len(dst) + 1 - start - nameStart // from doc to the new object; the quote precedes the name
		dst = append(dst, doc[nameStart-1:end]...)
		r := attrRanges{nameStart + shift, nameEnd + shift, from + shift, to + shift, attrs[i].Tag(), attrs[i].escaped()}
		next := len(dst) - start + 1 // the closing brace
		if n+1 < len(picks) {
			next++ // the comma and the quote
		}
		index = append(index, r.pack(next))
	}
	return append(dst, '}'), index
}
