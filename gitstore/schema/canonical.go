package schema

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf16"
)

// Canonical writes n by RFC 8785 (JCS): no white space, names sorted by their
// UTF-16 units, numbers as ECMAScript prints the nearest double. It errs for
// a number no double can hold. Equal documents have equal bytes.
//
// Source: DECISIONS H14.
func Canonical(n *Node) ([]byte, error) { return appendCanonical(nil, n) }

// Hash is the SHA-256 of the canonical form of a list of nodes, in hex.
func Hash(list []*Node) (string, error) {
	text, err := Canonical(&Node{Kind: Array, Items: list})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// appendCanonical appends n to out.
func appendCanonical(out []byte, n *Node) ([]byte, error) {
	switch n.Kind {
	case Null:
		return append(out, "null"...), nil
	case Bool:
		return append(out, n.Text...), nil
	case Number:
		return appendNumber(out, n.Text)
	case String:
		return appendText(out, n.Text), nil
	case Array:
		return appendList(out, n.Items)
	case Object:
		return appendObject(out, n.Members)
	}
	return nil, fmt.Errorf("a node is of no kind")
}

func appendList(out []byte, items []*Node) (_ []byte, err error) {
	out = append(out, '[')
	for i, item := range items {
		if i > 0 {
			out = append(out, ',')
		}
		if out, err = appendCanonical(out, item); err != nil {
			return nil, err
		}
	}
	return append(out, ']'), nil
}

func appendObject(out []byte, members []Member) (_ []byte, err error) {
	sorted := slices.Clone(members)
	slices.SortFunc(sorted, func(a, b Member) int { return compareUnits(a.Name, b.Name) })
	out = append(out, '{')
	for i, member := range sorted {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(appendText(out, member.Name), ':')
		if out, err = appendCanonical(out, member.Value); err != nil {
			return nil, err
		}
	}
	return append(out, '}'), nil
}

// compareUnits orders two texts by their UTF-16 units, which differs from the
// order of bytes above U+FFFF.
func compareUnits(a, b string) int {
	return slices.CompareFunc(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)), cmp.Compare[uint16])
}

// appendNumber writes a number as ECMAScript does.
func appendNumber(out []byte, text string) ([]byte, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) {
		return nil, fmt.Errorf("the number %.40s is too large", text)
	}
	size := math.Abs(f)
	switch {
	case f == 0:
		return append(out, '0'), nil
	case size >= 1e-6 && size < 1e21:
		return strconv.AppendFloat(out, f, 'f', -1, 64), nil
	}
	printed := strconv.AppendFloat(nil, f, 'e', -1, 64)
	printed = bytes.Replace(printed, []byte("e-0"), []byte("e-"), 1) // e-07 is e-7
	return append(out, printed...), nil
}

// appendText writes a text with the few escapes JCS has.
func appendText(out []byte, text string) []byte {
	out = append(out, '"')
	for i := range len(text) {
		switch c := text[i]; c {
		case '"', '\\':
			out = append(out, '\\', c)
		case '\b':
			out = append(out, '\\', 'b')
		case '\f':
			out = append(out, '\\', 'f')
		case '\n':
			out = append(out, '\\', 'n')
		case '\r':
			out = append(out, '\\', 'r')
		case '\t':
			out = append(out, '\\', 't')
		default:
			if c < 0x20 {
				out = fmt.Appendf(out, `\u%04x`, c)
			} else {
				out = append(out, c)
			}
		}
	}
	return append(out, '"')
}
