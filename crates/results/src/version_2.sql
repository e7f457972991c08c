-- Whose ceiling held a workload back (the object's position; NULL where none did), and how the floor fared that it is
-- under: a name, and the number that goes with some of them.
ALTER TABLE interval ADD COLUMN held_at INTEGER;
ALTER TABLE interval ADD COLUMN floor TEXT NOT NULL DEFAULT 'not_set';
ALTER TABLE interval ADD COLUMN floor_number INTEGER;
