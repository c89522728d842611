// Command load writes entries to a badger database in the directory, reads
// them again in another order, and ends: load dir entries.
package main

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"

	"github.com/dgraph-io/badger/v4"
)

func main() {
	n, err := strconv.Atoi(os.Args[2])
	if err == nil {
		err = run(os.Args[1], n)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(dir string, n int) error {
	db, err := badger.Open(badger.DefaultOptions(dir).WithLogger(nil).WithSyncWrites(false))
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(1, 2))
	batch := db.NewWriteBatch()
	for range n {
		key, value := make([]byte, 16), make([]byte, 100)
		binary.BigEndian.PutUint64(key, uint64(random.IntN(n)))
		binary.BigEndian.PutUint64(value, random.Uint64())
		if err := batch.Set(key, value); err != nil {
			return err
		}
	}
	if err := batch.Flush(); err != nil {
		return err
	}
	found := 0
	err = db.View(func(txn *badger.Txn) error {
		for range n {
			key := make([]byte, 16)
			binary.BigEndian.PutUint64(key, uint64(random.IntN(n)))
			item, err := txn.Get(key)
			if err == badger.ErrKeyNotFound {
				continue
			}
			if err != nil {
				return err
			}
			found++
			if _, err := item.ValueCopy(nil); err != nil {
				return err
			}
		}
		return nil
	})
	fmt.Println(found, "found")
	if err != nil {
		return err
	}
	return db.Close()
}
