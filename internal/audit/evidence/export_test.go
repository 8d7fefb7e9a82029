package evidence

import (
	"bytes"
	"hash/crc32"
)

// Named is a member of an archive that a test makes.
type Named struct {
	Name string
	Data []byte
}

// Archive puts members together in the form of evidence files, whatever they are.
func Archive(members ...Named) []byte {
	var out, directory []byte
	for _, m := range members {
		s := stored{name: m.Name, crc: crc32.ChecksumIEEE(m.Data), size: int64(len(m.Data)), offset: int64(len(out))}
		out = append(append(out, s.local()...), m.Data...)
		directory = append(directory, s.central()...)
	}
	end := endRecord(len(members), int64(len(directory)), int64(len(out)))
	return append(append(out, directory...), end...)
}

// Members takes an archive apart.
func Members(file []byte) (list []Named) {
	members, err := readDirectory(readerAt(file), int64(len(file)))
	if err != nil {
		panic(err)
	}
	for _, m := range members {
		list = append(list, Named{m.name, bytes.Clone(file[m.data():m.end()])})
	}
	return list
}

// Ends says where each member's bytes begin and end.
func Ends(file []byte) (list [][2]int64) {
	members, err := readDirectory(readerAt(file), int64(len(file)))
	if err != nil {
		panic(err)
	}
	for _, m := range members {
		list = append(list, [2]int64{m.data(), m.end()})
	}
	return list
}

type readerAt []byte

func (r readerAt) ReadAt(p []byte, offset int64) (int, error) { return copy(p, r[offset:]), nil }

// NoteText is what is signed of a manifest.
func NoteText(origin string, treeSize int64, manifest []byte) string {
	return noteText(origin, treeSize, manifest)
}

// Encode is the manifest's form.
func (m Manifest) Encode() ([]byte, error) { return m.encode() }

// ParseManifest reads a manifest.
func ParseManifest(raw []byte) (Manifest, error) { return parseManifest(raw) }

// ParseLine reads an entry's line.
func ParseLine(raw []byte) (Item, error) {
	i, _, err := parseLine(raw, nil)
	return i, err
}

// EncodeLine writes an entry's line.
func (i Item) EncodeLine() []byte { return i.encode(nil) }

// Again bounds how many entries are read again to decide disputes again.
func (o Options) Again(n int) Options {
	o.again = n
	return o
}
