package audit

import (
	"encoding/binary"
	"math/bits"
	"strconv"
	"strings"

	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// The digest of a group is a sum. So the digests of millions of contributions can be added in any order, and none has
// to be kept. The digest has two halves, each modulo a prime. A count or a sum adds its value times a factor. The
// factor is a hash of its kind and name. A member (a value of a min, a max or a distinct) adds its hash. Modulo a
// prime, decimals can be divided by ten, so that sums of any scale are exact.
var primes = [2]uint64{1<<61 - 1, 1<<64 - 59}

// tenths are the inverses of ten modulo each prime.
var tenths = [2]uint64{powerMod(10, primes[0]-2, primes[0]), powerMod(10, primes[1]-2, primes[1])}

// halves are the two halves of a group's digest.
type halves [2]uint64

// digest returns the halves as the digest of a group.
func (h halves) digest() (d Digest) {
	binary.BigEndian.PutUint64(d[:8], h[0])
	binary.BigEndian.PutUint64(d[8:], h[1])
	return d
}

// add adds other to h, each half modulo its prime.
func (h *halves) add(other halves) {
	for i, p := range primes {
		sum, carry := bits.Add64(h[i], other[i], 0)
		if carry != 0 || sum >= p {
			sum -= p
		}
		h[i] = sum
	}
}

// AddDigests returns the sum of two digests of parts of a group; see [Entry].Share.
func AddDigests(a, b Digest) Digest {
	h := halvesOf(a)
	h.add(halvesOf(b))
	return h.digest()
}

// halvesOf returns the halves of a digest, each modulo its prime.
func halvesOf(d Digest) halves {
	return halves{binary.BigEndian.Uint64(d[:8]) % primes[0], binary.BigEndian.Uint64(d[8:]) % primes[1]}
}

// multiply returns a times b modulo p.
func multiply(a, b, p uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return bits.Rem64(hi, lo, p)
}

// powerMod returns base to the power of exponent, modulo p.
func powerMod(base, exponent, p uint64) uint64 {
	result := uint64(1)
	for ; exponent > 0; exponent >>= 1 {
		if exponent&1 != 0 {
			result = multiply(result, base, p)
		}
		base = multiply(base, base, p)
	}
	return result
}

// The kinds of numbers in a group's digest. hashHalves mixes the kind into the factor.
const (
	addsShares = "shares"
	addsCount  = "count"
	addsSum    = "sum"
	addsOther  = "other" // description of parts that no group should have
)

// hashHalves returns the hash of texts as two halves.
func (d *digester) hashHalves(texts ...string) halves {
	b := d.begin(Group)
	for _, t := range texts {
		b = appendSized(b, t)
	}
	return halvesOf(d.end(b))
}

// addNumber adds a number to the digest, times the factor of its kind and name. text is the text of a state.Number.
func (h *halves) addNumber(d *digester, kind, name, text string) {
	if text == "0" {
		return
	}
	digits, negative := strings.CutPrefix(text, "-")
	product := d.hashHalves(kind, name)
	for i, p := range primes {
		n := residue(digits, i)
		if negative && n != 0 {
			n = p - n
		}
		product[i] = multiply(n, product[i], p)
	}
	h.add(product)
}

// residue returns digits, a decimal without a sign, modulo primes[i].
func residue(digits string, i int) uint64 {
	p := primes[i]
	n := uint64(0)     // the digits without their point
	scale := uint64(1) // a tenth for each digit after the point
	inFraction := false
	for k := range len(digits) {
		if digits[k] == '.' {
			inFraction = true
			continue
		}
		sum, carry := bits.Add64(multiply(n, 10, p), uint64(digits[k]-'0'), 0)
		n = bits.Rem64(carry, sum, p)
		if inFraction {
			scale = multiply(scale, tenths[i], p)
		}
	}
	return multiply(n, scale, p)
}

// groupDigest returns the digest of a stored group. foreign describes parts that no group of the sink should have; ""
// if there are none.
func (d *digester) groupDigest(g *view.Group, foreign string) Digest {
	h := d.groupHalves(g.Shares, g.Counts, g.Sums, g.Members)
	if foreign != "" {
		h.add(d.hashHalves(addsOther, foreign))
	}
	return h.digest()
}

// groupHalves returns the digest of the contents of a group, or of the part that a contribution adds to a group.
func (d *digester) groupHalves(shares int64, counts, sums []state.Increment, members []state.Member) (h halves) {
	h.addNumber(d, addsShares, "", strconv.FormatInt(shares, 10))
	for _, i := range counts {
		h.addNumber(d, addsCount, i.Name, i.Amount.String())
	}
	for _, i := range sums {
		h.addNumber(d, addsSum, i.Name, i.Amount.String())
	}
	for i := range members {
		m := &members[i]
		h.add(d.hashHalves("member", m.Name, string(rune('0'+m.Kind)), m.Value, m.ID))
	}
	return h
}
