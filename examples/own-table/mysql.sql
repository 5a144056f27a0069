CREATE TABLE `order` (
  `orderId`   CHAR(36) PRIMARY KEY,
  `state`     TINYINT NOT NULL DEFAULT 0,
  `tryCount`  INT,
  `notBefore` DATETIME(6),
  `takenAt`   DATETIME(6),
  `lastError` TEXT,
  `createdAt` DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  `to`        VARCHAR(320) NOT NULL,
  `from`      VARCHAR(320) NOT NULL,
  `select`    VARCHAR(255) NOT NULL,
  `body`      TEXT NOT NULL,
  `amount`    DECIMAL(12, 2)
);
