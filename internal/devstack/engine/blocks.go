package engine

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	chproto "github.com/ClickHouse/ch-go/proto"
	"github.com/ClickHouse/clickhouse-go/v2/lib/column"
	"github.com/ClickHouse/clickhouse-go/v2/lib/proto"
)

// driverRevision is the protocol that the driver asks for and decodes (client_protocol_version).
const driverRevision = 54460

// translate turns Native as the engine writes it, without block info, into Native as the driver reads it.
func translate(native []byte) ([]byte, error) {
	reader := chproto.NewReader(bytes.NewReader(native))
	var out chproto.Buffer
	for {
		block := proto.Block{ServerContext: &column.ServerContext{Revision: driverRevision, Timezone: time.UTC}}
		err := block.Decode(reader, 0)
		if errors.Is(err, io.EOF) {
			return out.Buf, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading the engine's answer: %w", err)
		}
		if err := block.Encode(&out, driverRevision); err != nil {
			return nil, fmt.Errorf("encoding an answer: %w", err)
		}
	}
}
