package modelcheck

import "unsafe"

// hugeFrom is the size from which tables are mapped on their own, so that they
// can be given back at once and use large pages.
const hugeFrom = 1 << 20

// newTable allocates n zeroed words.
func newTable(n int) []uint64 {
	if n*8 >= hugeFrom {
		if t := mapWords(n); t != nil {
			return t
		}
	}
	return make([]uint64, n)
}

// freeTable gives back a table made by newTable; it must not be used any more.
func freeTable(t []uint64) {
	if len(t)*8 >= hugeFrom {
		unmapWords(t)
	}
}

func wordsOf(b []byte) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/8)
}

func bytesOf(t []uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(t))), len(t)*8)
}
