package evidence

import (
	"encoding/binary"
	"errors"
	"math"
)

// The one spelling of the archive: PKWARE APPNOTE 6.3.10, §4.3.7, §4.3.12, §4.3.16, with every optional field absent.
const (
	localSignature   = 0x04034b50
	centralSignature = 0x02014b50
	endSignature     = 0x06054b50

	localLength   = 30
	centralLength = 46
	endLength     = 22

	version   = 20     // 2.0
	dosDate   = 0x0021 // 1980-01-01, the earliest that there is
	maxName   = 64     // bytes of a member's name
	maxCount  = math.MaxUint16 - 1
	maxLength = math.MaxUint32 - 1
)

// errTooLarge says that a file would not fit into an archive without 64-bit fields.
var errTooLarge = errors.New("the evidence is too large for one file")

// stored is a member as the archive's directory has it.
type stored struct {
	name   string
	crc    uint32
	size   int64
	offset int64 // of its local header
}

// end is where the member's bytes end.
func (s stored) end() int64 { return s.data() + s.size }

// data is where the member's bytes begin.
func (s stored) data() int64 { return s.offset + localLength + int64(len(s.name)) }

func (s stored) local() []byte {
	b := binary.LittleEndian.AppendUint32(make([]byte, 0, localLength+len(s.name)), localSignature)
	b = s.common(b)
	return append(b, s.name...)
}

func (s stored) central() []byte {
	b := binary.LittleEndian.AppendUint32(make([]byte, 0, centralLength+len(s.name)), centralSignature)
	b = binary.LittleEndian.AppendUint16(b, version) // made by
	b = s.common(b)
	b = append(b, make([]byte, 10)...) // comment length, disk, internal and external attributes
	b = binary.LittleEndian.AppendUint32(b, uint32(s.offset))
	return append(b, s.name...)
}

// common are the fields that both headers have: version needed to extra length.
func (s stored) common(b []byte) []byte {
	b = binary.LittleEndian.AppendUint16(b, version)
	b = append(b, 0, 0, 0, 0, 0, 0) // flags, method (stored), time
	b = binary.LittleEndian.AppendUint16(b, dosDate)
	b = binary.LittleEndian.AppendUint32(b, s.crc)
	b = binary.LittleEndian.AppendUint32(b, uint32(s.size))
	b = binary.LittleEndian.AppendUint32(b, uint32(s.size))
	b = binary.LittleEndian.AppendUint16(b, uint16(len(s.name)))
	return append(b, 0, 0)
}

// endRecord closes an archive of count members, whose directory of length bytes begins at offset.
func endRecord(count int, length, offset int64) []byte {
	b := binary.LittleEndian.AppendUint32(make([]byte, 0, endLength), endSignature)
	b = append(b, 0, 0, 0, 0) // disks
	b = binary.LittleEndian.AppendUint16(b, uint16(count))
	b = binary.LittleEndian.AppendUint16(b, uint16(count))
	b = binary.LittleEndian.AppendUint32(b, uint32(length))
	b = binary.LittleEndian.AppendUint32(b, uint32(offset))
	return append(b, 0, 0)
}
