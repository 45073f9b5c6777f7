package textdiff

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"fmt"
	"strings"
)

// Mailable is [Unified] for a patch that is sent by mail and applied with git
// am: a file mail would change on its way goes as a binary patch, with all of
// its bytes. That is a file with a NUL anywhere, and one with a CR, because
// git am takes the CR at the end of a line for the mail's.
//
// Source: gitstore.md R-LAND-8.
func Mailable(files []File) ([]byte, error) {
	var out bytes.Buffer
	for _, f := range files {
		parts := []File{f}
		if f.retyped() {
			parts = []File{{Path: f.Path, Before: f.Before}, {Path: f.Path, After: f.After}}
		}
		for _, part := range parts {
			if !part.brittle() || bytes.Equal(part.Before.data(), part.After.data()) {
				writeFile(&out, part)
			} else if err := writeBinary(&out, part); err != nil {
				return nil, fmt.Errorf("encode %q: %w", f.Path, err)
			}
		}
	}
	return out.Bytes(), nil
}

// brittle reports whether either side holds bytes that mail does not carry.
func (f File) brittle() bool {
	return bytes.ContainsAny(f.Before.data(), "\x00\r") || bytes.ContainsAny(f.After.data(), "\x00\r")
}

// writeBinary writes a file's change as git diff --binary does, both ways.
func writeBinary(out *bytes.Buffer, f File) error {
	writeHeader(out, f)
	fmt.Fprintf(out, "index %s..%s\nGIT binary patch\n", blobName(f.Before), blobName(f.After))
	for _, side := range []*Side{f.After, f.Before} {
		if err := writeLiteral(out, side.data()); err != nil {
			return err
		}
	}
	return nil
}

// blobName is git's name of a side's content, which git apply compares.
func blobName(s *Side) string {
	if s == nil {
		return strings.Repeat("0", 2*sha1.Size)
	}
	sum := sha1.New()
	fmt.Fprintf(sum, "blob %d\x00", len(s.Data))
	sum.Write(s.Data)
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// literalLine is how many bytes a line of a binary patch holds.
const literalLine = 52

// writeLiteral writes content, compressed, in lines that begin with their
// length: A to Z for 1 to 26 bytes, a to z for 27 to 52.
func writeLiteral(out *bytes.Buffer, data []byte) error {
	var packed bytes.Buffer
	w := zlib.NewWriter(&packed)
	if _, err := w.Write(data); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	fmt.Fprintf(out, "literal %d\n", len(data))
	for rest := packed.Bytes(); len(rest) > 0; {
		n := min(len(rest), literalLine)
		length := byte('A' + n - 1)
		if n > 26 {
			length = byte('a' + n - 27)
		}
		out.WriteByte(length)
		writeBase85(out, rest[:n])
		out.WriteByte('\n')
		rest = rest[n:]
	}
	out.WriteByte('\n')
	return nil
}

const base85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"

// writeBase85 writes four bytes as five characters, the last ones filled up
// with zeros.
func writeBase85(out *bytes.Buffer, data []byte) {
	for len(data) > 0 {
		var four [4]byte
		data = data[copy(four[:], data):]
		value := uint32(four[0])<<24 | uint32(four[1])<<16 | uint32(four[2])<<8 | uint32(four[3])
		var five [5]byte
		for i := len(five) - 1; i >= 0; i-- {
			five[i] = base85[value%85]
			value /= 85
		}
		out.Write(five[:])
	}
}
